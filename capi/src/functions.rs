//! The functions and macros of the tapsets.
use crate::border::ErrorOut;
use crate::each::{EachFn, answers};
use crate::handle::Handle;
use crate::kept::Kept;
use crate::tapset::{Asked, file};
use crate::text::{Text, Texts};
use probeidx::tapset::{Definitions, ast};
use std::ffi::{c_char, c_void};

/// `struct probeidx_parameter`
#[repr(C)]
pub struct Parameter {
    /// Of the struct.
    pub size: usize,
    /// Its name.
    pub name: Text,
    /// `long`, `string`, `unknown`, as SystemTap infers it.
    pub type_name: Text,
}

/// `struct probeidx_function`
#[repr(C)]
pub struct Function {
    /// Of the struct.
    pub size: usize,
    /// As handlers call it.
    pub name: Text,
    /// The type of what it gives; `unknown` of one that gives nothing.
    pub result: Text,
    /// In order.
    pub parameters: *const *const Parameter,
    /// How many.
    pub parameter_count: usize,
    /// `/* pure */` and the like, without the comment signs.
    pub marks: *const Text,
    /// How many.
    pub mark_count: usize,
    /// Where it is defined.
    pub file: Text,
    /// What the comment above it says.
    pub comment: Text,
    /// Of the definition.
    pub line: u32,
    /// Only for the file that defines it.
    pub is_private: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the functions that a pattern matches.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_functions(
    index: *const Handle,
    pattern: *const c_char,
    flags: u32,
    each: EachFn<Function>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, Some("there is no such function"), |open, each| {
        let view = *open.lookup().view();
        let asked = Asked::new(pattern, flags)?;
        let definitions = Definitions::of_index(&view)?;
        let names = definitions.function_names().into_iter().filter(|name| asked.is_meant(name));
        let is_shown = |f: &&ast::Function| !f.private || asked.with_private();
        for function in names.flat_map(|name| definitions.functions(name)).filter(is_shown) {
            let (mut texts, mut kept) = (Texts::new(view.strings()), Kept::default());
            let inferred = &function.signature.parameters;
            let parameters = function.parameters.iter().enumerate().map(|(at, parameter)| Parameter {
                size: size_of::<Parameter>(),
                name: texts.keep(&*parameter.name),
                type_name: texts.keep(inferred.get(at).unwrap_or(&parameter.declared).to_string()),
            });
            let (parameters, parameter_count) = kept.pointers(parameters.collect());
            let marks = function.marks().into_iter().map(|mark| texts.keep(mark)).collect();
            let (marks, mark_count) = kept.list(marks);
            each.call(&Function {
                size: size_of::<Function>(),
                name: texts.keep(&*function.name),
                result: texts.keep(function.signature.result.to_string()),
                parameters,
                parameter_count,
                marks,
                mark_count,
                file: file(&definitions, function.place, &mut texts),
                comment: texts.keep(function.comment.as_deref().unwrap_or_default()),
                line: function.place.line,
                is_private: function.private.into(),
                reserved: [0; 2],
            })?;
        }
        Ok(definitions.whole()?)
    })
}

/// `struct probeidx_macro`
#[repr(C)]
pub struct Macro {
    /// Of the struct.
    pub size: usize,
    /// Without the `@`.
    pub name: Text,
    /// Their names.
    pub parameters: *const Text,
    /// How many.
    pub parameter_count: usize,
    /// What it stands for.
    pub body: Text,
    /// Where it is defined.
    pub file: Text,
    /// Of the definition.
    pub line: u32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the macros that a pattern matches, sorted.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_macros(
    index: *const Handle,
    pattern: *const c_char,
    flags: u32,
    each: EachFn<Macro>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, Some("there is no such macro"), |open, each| {
        let view = *open.lookup().view();
        let asked = Asked::new(pattern, flags)?;
        let definitions = Definitions::of_index(&view)?;
        let mut found: Vec<_> = definitions.macros().filter(|(name, _)| asked.is_meant(name)).collect();
        found.sort_unstable_by_key(|(name, _)| *name);
        for (name, of) in found {
            let (mut texts, mut kept) = (Texts::new(view.strings()), Kept::default());
            let parameters = of.parameters.iter().map(|name| texts.keep(&**name)).collect();
            let (parameters, parameter_count) = kept.list(parameters);
            each.call(&Macro {
                size: size_of::<Macro>(),
                name: texts.keep(name),
                parameters,
                parameter_count,
                body: texts.keep(of.text()),
                file: file(&definitions, of.place, &mut texts),
                line: of.place.line,
                reserved32: 0,
                reserved: [0; 2],
            })?;
        }
        Ok(definitions.whole()?)
    })
}
