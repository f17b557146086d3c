//! Types: their layouts, their members, and who uses them.
use crate::failure::{Answer, Failure, usage};
use crate::kernel::Kernel;
use crate::placements::html;
use crate::record::{hash, record};
use crate::to_python::to_python;
use probeidx::query::explain;
use probeidx::query::spec::member_path::{self, Path, Step};
use probeidx::query::types::layout::{Body, layout};
use probeidx::query::types::member::walk_path;
use probeidx::query::types::{lookup, users as using};
use probeidx::render::types::object as object_name;
use probeidx::render::types_json as json;
use probeidx_format::View;
use probeidx_format::id::TypeId;
use pyo3::prelude::*;
use std::sync::Arc;

/// A name, and the path behind it. The type itself is meant, not a pointer to it: both spellings of the first step are
/// equivalent.
fn parsed(text: &str) -> Answer<Path> {
    let mut path = member_path::parse(text)?;
    if let Some(first) = path.steps.first_mut()
        && let Step::Arrow(name) = first
    {
        *first = Step::Member(std::mem::take(name));
    }
    Ok(path)
}

fn found(view: &View<'_>, name: &str) -> Answer<Vec<TypeId>> {
    let found = lookup::find(view, name);
    if found.is_empty() {
        let missing = explain::types::missing(view, name);
        return Err(Failure::NotFound(vec![missing.to_string()], missing.near));
    }
    Ok(found)
}

/// The layouts of all types of a name.
///
/// # Errors
/// [`Failure::NotFound`]; usage for a path.
pub fn layouts(kernel: &Kernel, name: &str) -> Answer<Vec<Type>> {
    let path = parsed(name)?;
    if !path.steps.is_empty() {
        return Err(usage(format!("{name} is a member, not a type"), "ask for it with member()"));
    }
    kernel.ask(|view| {
        let found = found(view, &path.root)?;
        let (mut all, mut reasons) = (vec![], vec![]);
        for type_id in &found {
            let Some(laid_out) = layout(view, *type_id) else { continue };
            if matches!(laid_out.body, Body::Declared) && laid_out.chain.is_empty() {
                let name = &laid_out.named.spelled;
                reasons
                    .push(format!("{name} is only declared: its definition is in nothing that was indexed"));
                continue;
            }
            let objects = if found.len() == 1 { vec![] } else { using::objects(view, *type_id) };
            let objects: Vec<String> = objects.into_iter().map(|o| object_name(view, o)).collect();
            all.push(Type(Arc::new(json::layout_object(kernel.release().to_owned(), &laid_out, &objects))));
        }
        if all.is_empty() { Err(Failure::NotFound(reasons, vec![])) } else { Ok(all) }
    })
}

/// What is at the end of a path.
///
/// # Errors
/// [`Failure::NotFound`]; usage for a path without members.
pub fn member(kernel: &Kernel, path: &str) -> Answer<MemberAt> {
    let parsed = parsed(path)?;
    if parsed.steps.is_empty() {
        return Err(usage(
            format!("{path} is a type, not a member"),
            "write NAME.member, or ask with type()",
        ));
    }
    kernel.ask(|view| {
        let mut reasons = vec![];
        let all = found(view, &parsed.root)?;
        for type_id in &all {
            let Some(root) = layout(view, *type_id) else { continue };
            match walk_path(view, *type_id, &parsed) {
                Ok(walked) => {
                    let release = kernel.release().to_owned();
                    let path = parsed.to_string();
                    return Ok(MemberAt(json::member_object(view, release, path, &root.named, &walked)));
                }
                Err(error) => {
                    let place = match (all.len(), root.named.line) {
                        (1, _) | (_, 0) => String::new(),
                        (_, line) => format!("{}:{line}: ", String::from_utf8_lossy(root.named.file)),
                    };
                    reasons.push(format!("{place}{error}"));
                }
            }
        }
        Err(Failure::NotFound(reasons, vec![]))
    })
}

/// The functions that take or return a type.
///
/// # Errors
/// [`Failure::NotFound`]; usage for a path.
pub fn users(kernel: &Kernel, name: &str) -> Answer<Vec<User>> {
    let path = parsed(name)?;
    if !path.steps.is_empty() {
        return Err(usage(format!("{name}: functions take types, not members"), "ask for the type of it"));
    }
    kernel.ask(|view| {
        let found = found(view, &path.root)?;
        let wanted = using::asked(view, &path.root, &found);
        let mut all = vec![];
        using::users(view, &wanted, |user| {
            let release = kernel.release().to_owned();
            all.push(User(json::user_object(view, release, path.root.clone(), user)));
            Ok::<(), std::io::Error>(())
        })
        .map_err(probeidx::cli::output::failed)?;
        if all.is_empty() {
            return Err(Failure::NotFound(vec![format!("no function takes or returns {name}")], vec![]));
        }
        Ok(all)
    })
}

/// A struct, union, enum, typedef or base type.
#[pyclass(frozen, module = "probeidx")]
pub struct Type(Arc<json::Type<'static>>);

#[pymethods]
impl Type {
    /// The release of the kernel.
    #[getter]
    fn kernel(&self) -> &str {
        &self.0.kernel
    }
    /// ``struct``, ``union``, ``enum``, ``typedef``, ``base``, ….
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind
    }
    /// Its name, without the keyword; None if it has none.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }
    /// In bytes; None if unknown.
    #[getter]
    fn size(&self) -> Option<u64> {
        self.0.size
    }
    /// The file of its definition.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }
    /// The line of that, from 1.
    #[getter]
    fn line(&self) -> Option<u32> {
        self.0.line
    }
    /// The types that a typedef leads to, as C spells them.
    #[getter]
    fn chain(&self) -> Vec<String> {
        self.0.chain.iter().map(|link| link.spelled.clone()).collect()
    }
    /// For one of several definitions of a name, the objects that use it; None for vmlinux.
    #[getter]
    fn used_in(&self) -> Vec<Option<String>> {
        self.0.used_in.clone()
    }
    /// Its members, in the order of the definition.
    #[getter]
    fn members(&self) -> Vec<Member> {
        self.0.inside.iter().flat_map(|inside| inside.members.iter().cloned().map(Member)).collect()
    }
    /// The names of an enum, with their values.
    #[getter]
    fn enumerators(&self) -> Vec<(String, i64)> {
        self.0.enumerators.iter().flatten().map(|one| (one.name.clone(), one.value)).collect()
    }
    /// The member of this name, also within unnamed structs and unions.
    fn __getitem__(&self, name: &str) -> PyResult<Member> {
        let members = self.0.inside.as_ref().map_or(&[][..], |inside| &inside.members);
        let found = named(members, name).cloned().map(Member);
        found.ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(name.to_owned()))
    }
    /// What ``--json`` prints of it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &*self.0)
    }
    fn __repr__(&self) -> String {
        let size = self.0.size.map_or(String::new(), |size| format!(", {size} bytes"));
        let members =
            self.0.inside.as_ref().map_or(String::new(), |i| format!(", {} members", i.members.len()));
        format!("<Type {} {}{size}{members}>", self.0.kind, self.name().unwrap_or("(unnamed)"))
    }
    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        html(slf.as_any(), "type_")
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.0 == other.get().0)
    }
    fn __hash__(&self) -> u64 {
        hash(&*self.0)
    }
}

fn named<'m>(members: &'m [json::Inner], name: &str) -> Option<&'m json::Inner> {
    members.iter().find_map(|member| match (&member.name, &member.inside) {
        (Some(own), _) => (own == name).then_some(member),
        (None, Some(inside)) => named(&inside.members, name),
        (None, None) => None,
    })
}

record! {
    /// A member of a struct or union.
    Member(json::Inner), |it| format!("{} {} at {}, {} bytes", it.spelled, it.name.as_deref().unwrap_or("(unnamed)"), it.offset, it.size);
    /// Its name; None for an unnamed struct or union, whose members are those of the outer one.
    name: Option<&str> = it.name.as_deref();
    /// Its type as C spells it.
    r#type: &str = &it.spelled;
    /// In bytes, from the start of the outermost type.
    offset: u64 = it.offset;
    /// In bytes.
    size: u64 = it.size;
    /// The first bit of a bit-field, from the lowest of the byte at the offset.
    bit_offset: Option<u32> = it.bit_offset;
    /// The number of bits of a bit-field.
    bit_size: Option<u32> = it.bit_size;
    /// Those of an unnamed struct or union.
    members: Vec<Member> = it.inside.iter().flat_map(|inside| inside.members.iter().cloned().map(Member)).collect();
}

record! {
    /// A member at the end of a path.
    MemberAt(json::AtPath<'static>), |it| format!("{}: {} at {}", it.path, it.spelled, it.offset);
    /// The release of the kernel.
    kernel: &str = &it.kernel;
    /// The path that was asked for.
    path: &str = &it.path;
    /// Its type as C spells it.
    r#type: &str = &it.spelled;
    /// In bytes, from the last pointer on the path.
    offset: i64 = it.offset;
    /// In bytes; None if unknown.
    size: Option<u64> = it.size;
    /// The first bit of a bit-field.
    bit_offset: Option<u32> = it.bit_offset;
    /// The number of bits of a bit-field.
    bit_size: Option<u32> = it.bit_size;
    /// The file of the definition of the type that the path starts with.
    file: Option<&str> = it.file.as_deref();
    /// The line of that, from 1.
    line: Option<u32> = it.line;
}

/// The number of a parameter, from 1; 0 for what is returned.
fn position(used: &json::Use) -> u64 {
    match used.position {
        json::Position::Number(number) => number.into(),
        json::Position::Return(_) => 0,
    }
}

record! {
    /// A function that takes or returns a type.
    User(json::UserObject<'static>), |it| format!("{} at {}:{}", it.function, it.file, it.line);
    /// The release of the kernel.
    kernel: &str = &it.kernel;
    /// The function's name.
    function: &str = &it.function;
    /// The file of its declaration.
    file: &str = &it.file;
    /// The line of that, from 1; 0 if unknown.
    line: u32 = it.line;
    /// Whether it is inlined somewhere.
    inlined: bool = it.inlined;
    /// Where it runs; None for vmlinux.
    objects: Vec<Option<String>> = it.objects.clone();
    /// The parameters that are of the type, from 1, and how many pointers lead to it; 0 stands for what is returned.
    uses: Vec<(u64, u32)> = it.uses.iter().map(|used| (position(used), used.depth)).collect();
}
