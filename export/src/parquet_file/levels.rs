//! The levels of a page: which rows have a value, and where the list of each starts. (Parquet's documentation, "Nested encoding")
use super::run_length;
use crate::numbering::NULL;

/// How often each level is there.
#[derive(Debug)]
pub struct Counts {
    /// Of rows without a value, of empty lists, of values: of those that the column can have.
    pub definition: Vec<i64>,
    /// Of the first values of rows, and of others.
    pub repetition: [i64; 2],
}

impl Counts {
    /// None of a column whose values have this level of definition.
    pub fn new(most: i16) -> Self {
        Self { definition: vec![0; most.unsigned_abs() as usize + 1], repetition: [0; 2] }
    }

    /// How often there is no value.
    pub fn nulls(&self) -> u64 {
        let (_, without) = self.definition.split_last().unwrap_or((&0, &[]));
        without.iter().sum::<i64>().unsigned_abs()
    }
}

/// Appends the levels of rows of which each has a value, or is [`NULL`], and leaves only the values.
pub fn of_values(numbers: &mut Vec<u32>, counts: &mut Counts, out: &mut Vec<u8>) {
    let rows = numbers.len();
    let levels = match numbers.contains(&NULL) {
        true => numbers.iter().map(|number| u32::from(*number != NULL)).collect(),
        false => vec![1; rows],
    };
    put(&levels, 1, out);
    numbers.retain(|number| *number != NULL);
    counts.definition[0] += (rows - numbers.len()) as i64;
    counts.definition[1] += numbers.len() as i64;
}

/// Appends the levels of rows of which each has a list of so many values, or is [`NULL`] if the column may be. Returns how many they
/// are.
pub fn of_lists(lengths: &[u32], most: i16, counts: &mut Counts, out: &mut Vec<u8>) -> u32 {
    let most = most.unsigned_abs().into();
    let (mut definition, mut repetition) = (vec![], vec![]);
    for length in lengths {
        let (level, values) = match *length {
            NULL => (0, 1),
            0 => (most - 1, 1),
            length => (most, length as usize),
        };
        definition.extend(std::iter::repeat_n(level, values));
        repetition.push(0);
        repetition.extend(std::iter::repeat_n(1, values - 1));
    }
    put(&repetition, 1, out);
    put(&definition, u32::BITS - most.leading_zeros(), out);
    count(&definition, &mut counts.definition);
    counts.repetition[0] += lengths.len() as i64;
    counts.repetition[1] += (repetition.len() - lengths.len()) as i64;
    repetition.len() as u32
}

fn put(levels: &[u32], width: u32, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    run_length::encode(levels, width, out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn count(levels: &[u32], counts: &mut [i64]) {
    for level in levels {
        if let Some(count) = counts.get_mut(*level as usize) {
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(levels: &[u32], width: u32) -> Vec<u8> {
        let mut out = vec![];
        put(levels, width, &mut out);
        out
    }

    #[test]
    fn only_values_are_left() {
        let (mut numbers, mut counts, mut out) = (vec![7, NULL, 7, 8], Counts::new(1), vec![]);
        of_values(&mut numbers, &mut counts, &mut out);
        assert_eq!((numbers, out), (vec![7, 7, 8], written(&[1, 0, 1, 1], 1)));
        assert_eq!((counts.nulls(), &counts.definition[..]), (1, &[1, 3][..]));
    }

    #[test]
    fn a_list_may_be_null_or_empty() {
        let (mut counts, mut out) = (Counts::new(2), vec![]);
        assert_eq!(of_lists(&[3, NULL, 0, 1], 2, &mut counts, &mut out), 6);
        let wanted = [written(&[0, 1, 1, 0, 0, 0], 1), written(&[2, 2, 2, 0, 1, 2], 2)].concat();
        assert_eq!(out, wanted);
        assert_eq!((counts.nulls(), &counts.definition[..], counts.repetition), (2, &[1, 1, 4][..], [4, 2]));
        // A column that is never null has one level less.
        let (mut counts, mut out) = (Counts::new(1), vec![]);
        assert_eq!(of_lists(&[0, 2], 1, &mut counts, &mut out), 3);
        assert_eq!(out, [written(&[0, 0, 1], 1), written(&[0, 1, 1], 1)].concat());
    }
}
