//! Blocks of a query do not overlap, keep their contents, and leave nothing behind.
use super::*;
use proptest::prelude::*;
use std::sync::Mutex;

/// Tests count arenas, and so run one after another.
static ALONE: Mutex<()> = Mutex::new(());

fn claimed() -> usize {
    ARENAS.iter().filter(|a| a.claimed.load(SeqCst)).count()
}

#[derive(Clone, Debug)]
enum Step {
    Take(usize, u32),
    Free(usize),
    Resize(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![1usize..64, 1usize..LONG, Just(LONGEST)];
    prop_oneof![
        (size.clone(), 0u32..8).prop_map(|(size, align)| Step::Take(size, align)),
        any::<usize>().prop_map(Step::Free),
        (any::<usize>(), size).prop_map(|(at, size)| Step::Resize(at, size)),
    ]
}

/// The longest block; most are shorter. Miri is slow: it reads byte by byte.
const LONG: usize = if cfg!(miri) { 300 } else { 5000 };
const LONGEST: usize = if cfg!(miri) { 2000 } else { ARENA_SIZE / 3 };
const STEPS: usize = if cfg!(miri) { 20 } else { 60 };

/// A block, filled with its number.
struct Block(*mut u8, Layout, u8);

impl Block {
    fn fill(&self) {
        unsafe { self.0.write_bytes(self.2, self.1.size()) };
    }
    fn check(&self) {
        let bytes = unsafe { std::slice::from_raw_parts(self.0, self.1.size()) };
        assert!(bytes.iter().all(|b| *b == self.2), "block {} was written over", self.2);
        assert_eq!(self.0 as usize % self.1.align(), 0);
    }
}

/// Miri is slow, and has no folder for saving failures.
fn config() -> ProptestConfig {
    match cfg!(miri) {
        true => ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4) },
        false => ProptestConfig::with_cases(64),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn blocks_keep_what_is_in_them(steps in prop::collection::vec(step(), 1..STEPS)) {
        let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
        let mut blocks: Vec<Block> = Vec::with_capacity(64);
        let query = Query::begin();
        for (step, number) in steps.into_iter().zip(1u8..) {
            match step {
                Step::Take(size, align) => {
                    let layout = Layout::from_size_align(size, 1 << align).unwrap();
                    let block = Block(unsafe { Pool.alloc(layout) }, layout, number);
                    block.fill();
                    blocks.push(block);
                }
                Step::Free(at) if !blocks.is_empty() => {
                    let Block(block, layout, _) = blocks.remove(at % blocks.len());
                    unsafe { Pool.dealloc(block, layout) };
                }
                Step::Resize(at, size) if !blocks.is_empty() => {
                    let at = at % blocks.len();
                    let Block(block, layout, own) = blocks.remove(at);
                    let kept = layout.size().min(size);
                    let block = unsafe { Pool.realloc(block, layout, size) };
                    let layout = Layout::from_size_align(size, layout.align()).unwrap();
                    Block(block, Layout::from_size_align(kept, layout.align()).unwrap(), own).check();
                    let block = Block(block, layout, number);
                    block.fill();
                    blocks.push(block);
                }
                _ => {}
            }
            blocks.iter().for_each(Block::check);
        }
        // The remaining blocks are freed after the query is over.
        drop(query);
        blocks.iter().for_each(Block::check);
        for Block(block, layout, _) in blocks {
            unsafe { Pool.dealloc(block, layout) };
        }
        prop_assert_eq!(claimed(), 0);
    }
}

#[test]
fn queries_nest_and_what_is_outside_is_of_the_system() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let is_own = |text: &String| arena_of(text.as_ptr().cast_mut()).map(ptr::from_ref);
    let outer = Query::begin();
    let first = String::from("first");
    let inner = Query::begin();
    let second = String::from("second");
    let outside = Query::outside();
    let third = String::from("third");
    assert!(is_own(&first).is_some() && is_own(&second).is_some() && is_own(&first) != is_own(&second));
    assert_eq!(is_own(&third), None);
    drop(outside);
    assert_eq!(is_own(&String::from("fourth")), is_own(&second));
    drop((second, inner));
    assert_eq!(is_own(&String::from("fifth")), is_own(&first));
    drop((first, outer));
    assert_eq!(claimed(), 0);
}

#[test]
fn a_block_can_be_freed_elsewhere_and_later() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let query = Query::begin();
    let texts: Vec<String> = (0..4).map(|n| format!("text {n}")).collect();
    drop(query);
    assert_eq!(claimed(), 1);
    std::thread::spawn(move || drop(texts)).join().unwrap();
    assert_eq!(claimed(), 0);
}

#[test]
fn what_outgrows_an_arena_is_counted() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let query = Query::begin();
    let before = overflows();
    drop(vec![1u8; ARENA_SIZE / 2]);
    assert_eq!(overflows(), before);
    drop(vec![1u8; ARENA_SIZE + 1]);
    assert_eq!(overflows(), before + 1);
    drop(query);
    drop(vec![1u8; ARENA_SIZE + 1]);
    assert_eq!(overflows(), before + 1);
    assert_eq!(claimed(), 0);
}
