//! Lists, for each type, the functions that take or return it.
use super::{Functions, Types};
use probeidx_format::id::{FunctionId, TypeId};
use probeidx_format::record::{TypeRecord, TypeUsersRecord};
use probeidx_format::types::TypeKind;
use probeidx_format::users::{self, Use};
use probeidx_format::variables::Variables;
use probeidx_format::zerocopy::byteorder::little_endian::U32;
use rayon::prelude::*;

/// The tables `type_users` and `type_uses`.
pub struct Users {
    pub records: Vec<TypeUsersRecord>,
    pub uses: Vec<u8>,
}

/// Deeper chains of types are cut: no program has them.
const DEEPEST: u32 = 64;

pub(super) fn merge(types: &Types, functions: &Functions) -> Users {
    let ends: Vec<Option<(TypeId, u32)>> = (0..types.records.len() as u32)
        .into_par_iter()
        .map(|t| end(&types.records, TypeId::new(t)))
        .collect();
    let count = functions.records.len().saturating_sub(1);
    let mut all: Vec<(TypeId, Use)> = functions.records[..count]
        .par_iter()
        .enumerate()
        .flat_map_iter(|(at, record)| {
            let bytes = &functions.details[record.details.get() as usize..];
            let (count, line) = (record.variables.get(), record.line.get());
            let variables = Variables::read(&functions.variables[..], bytes, count, line);
            let returned = std::iter::once(variables.return_type);
            let parameters = variables.filter(|v| v.parameter && !v.nested).map(|v| v.type_id);
            let ends = &ends;
            returned.chain(parameters).zip(0u32..).filter_map(move |(type_id, position)| {
                let (type_id, depth) = (*ends.get(type_id?.index())?)?;
                Some((type_id, Use { function: FunctionId::new(at as u32), position, depth }))
            })
        })
        .collect();
    all.par_sort_unstable();
    let mut users = Users { records: vec![], uses: vec![] };
    for own in all.chunk_by(|a, b| a.0 == b.0) {
        let first_use = U32::new(users.uses.len() as u32);
        users.records.push(TypeUsersRecord { type_id: own[0].0, first_use });
        users::put(&mut users.uses, own.iter().map(|(_, one)| *one));
    }
    let first_use = U32::new(users.uses.len() as u32);
    users.records.push(TypeUsersRecord { type_id: TypeId::NONE, first_use });
    users
}

/// The struct, union, class or enum that this type leads to, and through how many pointers.
fn end(types: &[TypeRecord], type_id: TypeId) -> Option<(TypeId, u32)> {
    let (mut at, mut depth) = (type_id, 0);
    for _ in 0..DEEPEST {
        let record = types.get(at.index())?;
        match TypeKind::from_u8(record.kind) {
            TypeKind::Struct | TypeKind::Union | TypeKind::Class | TypeKind::Enum => {
                return Some((at, depth));
            }
            TypeKind::Pointer | TypeKind::Reference | TypeKind::RvalueReference => depth += 1,
            TypeKind::Base | TypeKind::Function | TypeKind::Unspecified => return None,
            TypeKind::Typedef
            | TypeKind::Array
            | TypeKind::Const
            | TypeKind::Volatile
            | TypeKind::Restrict
            | TypeKind::Atomic => {}
        }
        at = record.target.some()?;
    }
    None
}
