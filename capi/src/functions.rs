//! Tapset functions and macros.
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
    /// The size of the struct.
    pub size: usize,
    /// Its name.
    pub name: Text,
    /// `long`, `string`, `unknown`, as SystemTap infers it.
    pub type_name: Text,
}

/// `struct probeidx_function`
#[repr(C)]
pub struct Function {
    /// The size of the struct.
    pub size: usize,
    /// The name in handlers.
    pub name: Text,
    /// The type of the result; `unknown` if there is none.
    pub result: Text,
    /// The parameters, in order.
    pub parameters: *const *const Parameter,
    /// The length of `parameters`.
    pub parameter_count: usize,
    /// `/* pure */` and the like, without the comment signs.
    pub marks: *const Text,
    /// The length of `marks`.
    pub mark_count: usize,
    /// The file that defines it.
    pub file: Text,
    /// The comment above the definition.
    pub comment: Text,
    /// The line of the definition.
    pub line: u32,
    /// Whether it is only visible in the file that defines it.
    pub is_private: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the functions that match a pattern.
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
        let view = open.lookup().view();
        let asked = Asked::new(pattern, flags)?;
        let definitions = Definitions::of_index(view)?;
        let names = definitions.function_names().into_iter().filter(|name| asked.is_meant(name));
        let is_shown = |f: &&ast::Function| !f.private || asked.with_private();
        for function in names.flat_map(|name| definitions.functions(name)).filter(is_shown) {
            let (mut texts, mut kept) = (Texts::default(), Kept::default());
            let inferred = &function.signature.parameters;
            let parameters = function.parameters.iter().enumerate().map(|(at, parameter)| Parameter {
                size: size_of::<Parameter>(),
                name: texts.of(&*parameter.name),
                type_name: texts.of(inferred.get(at).unwrap_or(&parameter.declared).to_string()),
            });
            let (parameters, parameter_count) = kept.pointers(parameters.collect());
            let marks = function.marks().into_iter().map(|mark| texts.of(mark)).collect();
            let (marks, mark_count) = kept.list(marks);
            each.call(&Function {
                size: size_of::<Function>(),
                name: texts.of(&*function.name),
                result: texts.of(function.signature.result.to_string()),
                parameters,
                parameter_count,
                marks,
                mark_count,
                file: file(&definitions, function.place, &mut texts),
                comment: texts.of(function.comment.as_deref().unwrap_or_default()),
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
    /// The size of the struct.
    pub size: usize,
    /// The name without the `@`.
    pub name: Text,
    /// The names of the parameters.
    pub parameters: *const Text,
    /// The length of `parameters`.
    pub parameter_count: usize,
    /// The replacement.
    pub body: Text,
    /// The file that defines it.
    pub file: Text,
    /// The line of the definition.
    pub line: u32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the macros that match a pattern, sorted.
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
        let view = open.lookup().view();
        let asked = Asked::new(pattern, flags)?;
        let definitions = Definitions::of_index(view)?;
        let mut found: Vec<_> = definitions.macros().filter(|(name, _)| asked.is_meant(name)).collect();
        found.sort_unstable_by_key(|(name, _)| *name);
        for (name, of) in found {
            let (mut texts, mut kept) = (Texts::default(), Kept::default());
            let parameters = of.parameters.iter().map(|name| texts.of(&**name)).collect();
            let (parameters, parameter_count) = kept.list(parameters);
            each.call(&Macro {
                size: size_of::<Macro>(),
                name: texts.of(name),
                parameters,
                parameter_count,
                body: texts.of(of.text()),
                file: file(&definitions, of.place, &mut texts),
                line: of.place.line,
                reserved32: 0,
                reserved: [0; 2],
            })?;
        }
        Ok(definitions.whole()?)
    })
}
