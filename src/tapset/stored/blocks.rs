//! The trees of an index, compressed in blocks: a sixth of their length.
use flate2::{Decompress, FlushDecompress};
use probeidx_format::tapset::{BLOCK, Tapset};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::deferred::Bytes;

/// The blocks that were needed so far.
#[derive(Debug)]
pub struct Blocks {
    blocks: Vec<OnceLock<Arc<Vec<u8>>>>,
    /// Inflaters that are not in use: one has 40 KB of tables.
    idle: Mutex<Vec<Decompress>>,
}

impl Blocks {
    /// Those of an index. Reads none.
    pub fn of(tapset: Tapset<'_>) -> Self {
        Self { blocks: (0..tapset.blocks()).map(|_| OnceLock::new()).collect(), idle: Mutex::default() }
    }

    /// These bytes of the trees; fewer if a block is damaged. Cost: inflating the blocks that were not read before, and
    /// a copy if there are several.
    pub fn read(&self, tapset: Tapset<'_>, bytes: Range<usize>) -> Bytes {
        let Range { start, end } = bytes;
        let part = |number: usize| {
            let Some(block) = self.blocks.get(number) else { return Bytes::default() };
            let block = block.get_or_init(|| Arc::new(self.inflate(tapset.block(number))));
            let own = |at: usize| at.saturating_sub(number * BLOCK).min(BLOCK);
            Bytes::of(block, own(start)..own(end))
        };
        let numbers = start / BLOCK..end.div_ceil(BLOCK);
        match numbers.len() {
            0 | 1 => part(numbers.start),
            _ => numbers.flat_map(|number| part(number).to_vec()).collect::<Vec<u8>>().into(),
        }
    }

    /// A block; what can be read of it if it is damaged.
    fn inflate(&self, packed: &[u8]) -> Vec<u8> {
        let mut block = vec![];
        let Some(deflated) = deflated(packed) else { return block };
        block.reserve_exact(BLOCK);
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inflater = idle().pop().unwrap_or_else(|| Decompress::new(false));
        // An error leaves what was read before it. The checksum behind it would only be another.
        let _ = inflater.decompress_vec(deflated, &mut block, FlushDecompress::Finish);
        inflater.reset(false);
        idle().push(inflater);
        block
    }
}

/// What lies behind a header of zlib (RFC 1950), if there is one.
fn deflated(packed: &[u8]) -> Option<&[u8]> {
    let [method, flags, deflated @ ..] = packed else { return None };
    let is_header = method & 0xf == 8 && method >> 4 <= 7 && flags & 0x20 == 0;
    let is_whole = u16::from_be_bytes([*method, *flags]).is_multiple_of(31);
    (is_header && is_whole).then_some(deflated)
}

/// Compresses the trees as the section `tapset_trees`. Cost: some 30 ns a byte.
#[cfg(feature = "build")]
pub fn pack(trees: &[u8]) -> Vec<u8> {
    use rayon::prelude::*;
    use std::io::Write;
    let pack = |block: &[u8]| {
        let mut packed = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::default());
        // Writing to memory does not fail.
        let _ = packed.write_all(block);
        packed.finish().unwrap_or_default()
    };
    let blocks: Vec<Vec<u8>> = trees.par_chunks(BLOCK).map(pack).collect();
    let mut end = 4 * blocks.len() as u32;
    let mut packed = vec![];
    for block in &blocks {
        end += block.len() as u32;
        packed.extend(end.to_le_bytes());
    }
    packed.extend(blocks.concat());
    packed
}

#[cfg(all(test, feature = "build"))]
mod tests {
    use super::*;
    use probeidx_format::tapset::Tables;
    use probeidx_format::zerocopy::byteorder::little_endian::U32;

    #[test]
    fn what_lies_in_one_block_or_in_several_is_read() {
        let trees: Vec<u8> = (0..3 * BLOCK + 5).map(|at| (at / 7) as u8).collect();
        let tables = Tables {
            definitions: vec![U32::new(0), U32::new(trees.len() as u32)],
            trees: pack(&trees),
            ..Tables::default()
        };
        let tapset = tables.as_tapset();
        let blocks = Blocks::of(tapset);
        for bytes in [0..0, 5..90, 0..BLOCK, 7..BLOCK + 1, BLOCK - 1..3 * BLOCK + 1, 3 * BLOCK..trees.len()] {
            assert_eq!(*blocks.read(tapset, bytes.clone()), trees[bytes.clone()], "{bytes:?}");
        }
        assert!(blocks.read(tapset, 4 * BLOCK..4 * BLOCK + 1).is_empty());
    }

    #[test]
    fn a_damaged_block_is_shorter() {
        let trees = vec![1; 2 * BLOCK];
        let definitions = vec![U32::new(0), U32::new(trees.len() as u32)];
        let mut tables = Tables { definitions, trees: pack(&trees), ..Tables::default() };
        tables.trees[10..].fill(0xff);
        let tapset = tables.as_tapset();
        assert!(Blocks::of(tapset).read(tapset, 0..2 * BLOCK).len() < trees.len());
    }
}
