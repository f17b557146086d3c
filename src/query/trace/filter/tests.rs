use super::parse::parse;
use super::*;

fn said(text: &str) -> String {
    fn operand(operand: &Operand) -> String {
        match operand {
            Operand::Argument(argument) => argument.text.clone(),
            Operand::Common(name) => format!("<{name}>"),
        }
    }
    fn constant(value: &Constant) -> String {
        match value {
            Constant::Number(number) => number.to_string(),
            Constant::Name(name) => name.clone(),
            Constant::Text(text) => format!("{text:?}"),
            Constant::Joined(left, by, right) => format!("[{}{by}{}]", constant(left), constant(right)),
        }
    }
    fn condition(all: &Condition) -> String {
        let list = |parts: &[Condition]| parts.iter().map(condition).collect::<Vec<_>>().join(" ");
        match all {
            Condition::Any(parts) => format!("any({})", list(parts)),
            Condition::All(parts) => format!("all({})", list(parts)),
            Condition::Not(part) => format!("not({})", condition(part)),
            Condition::Test(test) => {
                format!("{}{}{}", operand(&test.operand), test.comparison.sign(), constant(&test.constant))
            }
        }
    }
    match parse(text) {
        Ok(parsed) => condition(&parsed),
        Err(error) => error.message().to_owned(),
    }
}

#[test]
fn conditions_are_read_as_c_reads_them() {
    for (text, expected) in [
        ("count > 4096", "count>4096"),
        ("4096 < count", "count>4096"),
        ("count", "count!=0"),
        ("!count", "not(count!=0)"),
        ("a == 1 || b == 2 && c == 3", "any(a==1 all(b==2 c==3))"),
        ("(a == 1 || b == 2) && c == 3", "all(any(a==1 b==2) c==3)"),
        ("count > 4096 && file->f_flags & O_DIRECT", "all(count>4096 file->f_flags&O_DIRECT)"),
        ("flags & (O_DIRECT | O_SYNC)", "flags&[O_DIRECT|O_SYNC]"),
        ("size >= (1 << 12)", "size>=[1<12]"),
        ("ret == -ENOENT", "ret==[0-ENOENT]"),
        ("ret == -2", "ret==[0-2]"),
        ("mode == 0644", "mode==420"),
        ("a[2].b != 0x10UL", "a[2].b!=16"),
        ("name == \"init\"", "name:string==\"init\""),
        ("name:ustring ~ \"*/passwd\"", "name:ustring~\"*/passwd\""),
        ("$comm == \"sh\"", "<comm>==\"sh\""),
        ("((struct tcp_sock *)sk)->snd_una > 1", "((struct tcp_sock *)sk)->snd_una>1"),
        ("$return < 0", "$return<0"),
        ("c == 'x'", "c==120"),
    ] {
        assert_eq!(said(text), expected, "{text}");
    }
}

#[test]
fn what_the_kernel_cannot_compare_is_refused_with_the_reason() {
    for (text, part) in [
        ("count > file->f_pos", "not with another field"),
        ("(flags & 3) == 1", "not what is in parentheses"),
        ("flags & 3 == 1", "compared once"),
        ("count * 2 > 4096", "computes nothing"),
        ("count >", "expected a number, a name or a text"),
        ("", "expected a value"),
        ("(a == 1", "expected &&, || or )"),
        ("a == 1)", "nothing to be closed"),
        ("a == 1 b", "expected &&, || or the end"),
        ("\"x\" ~ name", "the pattern stands behind"),
        ("flags & (1 | 2 + 3)", "parentheses around one"),
    ] {
        let said = said(text);
        assert!(said.contains(part), "{text}: {said}");
    }
    let deep = "!".repeat(100) + "a";
    assert!(said(&deep).contains("too deeply nested"));
    assert!(said(&"(".repeat(10_000)).contains("too deeply nested"));
}

#[test]
fn numbers_have_the_sign_of_their_field() {
    let number = |value, bits, is_signed| fitting(value, bits, is_signed, "x").ok();
    assert_eq!(number(-1, 32, false), Some(0xffff_ffff));
    assert_eq!(number(-1, 32, true), Some(-1));
    assert_eq!(number(0xffff_ffff, 32, true), Some(-1));
    assert_eq!(number(256, 8, false), None);
    assert_eq!(number(i128::from(u64::MAX), 64, false), Some(u64::MAX.into()));
}

#[test]
fn fields_hold_what_their_fetch_type_says() {
    let number = |bits, is_signed| Holds::Number { bits, is_signed };
    for (fetch, holds) in [
        ("a=%di:s32", number(32, true)),
        ("a=%di:x64", number(64, false)),
        ("a=+0(%di):b4@2/16", number(16, false)),
        ("a=+0(%di):string", Holds::Text),
        ("a=+0(%di):x8[4]", Holds::Array),
        ("a=%di:symbol", number(64, false)),
        ("a=%di", number(64, false)),
    ] {
        assert_eq!(Holds::of_fetch(fetch), holds, "{fetch}");
    }
}
