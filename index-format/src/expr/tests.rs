//! Expressions are read as they were written, and damaged bytes do no harm.
use super::write::{constant, put, put_sleb};
use super::*;
use crate::bits::BitWriter;
use proptest::prelude::*;

/// These expressions as the only ones of their details: bits and bytes of them.
fn written(all: &[&[u8]], base: FrameBase) -> (usize, Vec<u8>) {
    let (mut out, mut written) = (BitWriter::default(), Written::default());
    for operations in all {
        put(&mut out, operations, base, Place::Only, &mut written);
    }
    (out.position(), out.finish())
}

fn read(bytes: &[u8], count: usize) -> Vec<Expr<'_>> {
    let mut reader = Reader::new(Bits::new(bytes), Moved::NOT);
    (0..count).map(|_| reader.read(Place::Only)).collect()
}

fn there_and_back(operations: &[u8], most: usize, expected: Expr<'_>) {
    let (bits, out) = written(&[operations], FrameBase::Cfa);
    assert!(bits <= most, "{operations:x?}: {bits} bits");
    assert_eq!(read(&out, 1), [expected]);
}

#[test]
fn frequent_expressions_are_short() {
    there_and_back(&[0x55], 8, Expr::Register(5));
    there_and_back(&[0x31, 0x9f], 8, Expr::Literal(1));
    there_and_back(&[0xa3, 1, 0x54, 0x9f], 12, Expr::EntryValue(4));
    there_and_back(&[0x77, 0x08], 24, Expr::BasedOn(7, 8));
    there_and_back(&[0x7c, 0xc0, 0x7a], 32, Expr::BasedOn(12, -704));
    there_and_back(&[0x91, 0xb8, 0x7f], 24, Expr::Frame(-72));
    there_and_back(&[0x09, 0xde, 0x9f], 24, Expr::Constant(-34));
    there_and_back(&[0x0c, 0xff, 0xff, 0xff, 0xff, 0x9f], 64, Expr::Constant(0xffff_ffff));
    // The value r12-704 is not the memory at that address: the last operation matters.
    there_and_back(&[0x7c, 0xc0, 0x7a, 0x9f], 32, Expr::Sum(12, -704));
    there_and_back(&[0x91, 0x40, 0x9f], 24, Expr::FrameSum(-64));
    let address = [0x03, 0xc0, 0x11, 0x2a, 0x82, 0xff, 0xff, 0xff, 0xff];
    there_and_back(&address, 64, Expr::Memory(0xffff_ffff_822a_11c0));
    there_and_back(&[&address[..], &[0x9f]].concat(), 64, Expr::Address(0xffff_ffff_822a_11c0));
}

#[test]
fn others_are_verbatim() {
    // A number in more bytes than needed is.
    let long = vec![0x96; 100];
    for operations in [&[0x77, 0x88, 0x00], &[][..], &long] {
        let (_, out) = written(&[operations], FrameBase::Cfa);
        let [expr @ Expr::Verbatim(_)] = read(&out, 1)[..] else { panic!("{operations:x?}") };
        assert_eq!(expr.operations(), operations);
        assert_eq!(expr.is_empty(), operations.is_empty());
    }
}

#[test]
fn the_frame_base_decides_what_an_offset_from_it_is() {
    let based = |base, operations: &[u8]| {
        let (_, out) = written(&[operations], base);
        (read(&out, 1)[0].operations(), matches!(read(&out, 1)[0], Expr::Verbatim(_)))
    };
    assert_eq!(based(FrameBase::Register(7), &[0x91, 0x40]), (vec![0x77, 0x40], false));
    assert_eq!(based(FrameBase::Register(6), &[0x91, 0x40, 0x9f]), (vec![0x76, 0x40, 0x9f], false));
    assert_eq!(based(FrameBase::Other, &[0x91, 0x40]), (vec![0x91, 0x40], true));
}

#[test]
fn an_expression_that_comes_again_is_a_reference() {
    let verbatim = [0x70, 0x00, 0x06, 0x23, 0x08];
    let all = [&verbatim[..], &[0x77, 0x08], &[0x55], &[0x77, 0x08], &[0x77, 0x08], &[0x31, 0x9f], &verbatim];
    let (once, _) = written(&all[..3], FrameBase::Cfa);
    let (bits, out) = written(&all, FrameBase::Cfa);
    assert!(bits < once + 40, "{bits} bits, {once} of them for those that differ");
    assert_eq!(read(&out, all.len()).iter().map(|e| e.operations()).collect::<Vec<_>>(), all);
}

proptest! {
    #[test]
    fn all_operations_are_given_back(operations in prop::collection::vec(any::<u8>(), 0..12)) {
        exactly(&operations)?;
    }

    #[test]
    fn operations_with_a_number_are_given_back(op in prop::sample::select(&[0x70u8, 0x8f, 0x91, 0x11][..]), number: i64, is_value: bool) {
        let mut operations = vec![op];
        put_sleb(&mut operations, number);
        if is_value {
            operations.push(STACK_VALUE);
        }
        exactly(&operations)?;
    }

    #[test]
    fn damaged_expressions_are_read(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
        let mut reader = Reader::new(Bits::new(&bytes), Moved::NOT);
        while !reader.bits.ended() {
            let before = reader.bits.position();
            prop_assert!(reader.read(Place::First).operations().len() <= 8 * bytes.len() + 10);
            prop_assert!(reader.bits.position() > before);
        }
    }
}

/// Checks that these operations are read as they were written; constants at least by value.
fn exactly(operations: &[u8]) -> Result<(), TestCaseError> {
    let (_, out) = written(&[operations], FrameBase::Cfa);
    match read(&out, 1)[0] {
        Expr::Constant(value) => {
            let [op, operand @ .., STACK_VALUE] = operations else { panic!("{operations:x?}") };
            prop_assert_eq!(constant(*op, operand), Some(value));
        }
        // The opcode of older compilers.
        Expr::EntryValue(_) if operations[0] == 0xf3 => {}
        expr => prop_assert_eq!(&*expr.operations(), operations),
    }
    Ok(())
}
