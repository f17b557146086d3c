//! Handlers with the functions and globals that they use.
use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::Definitions;
use super::super::Place;
use super::super::ast::{self, FunctionBody, Script};
use super::super::context::Context;
use super::super::target::Runtime;
use super::finding::{Finding, Trouble};
use super::link::{Found, Linker};
use super::tree::{FunctionId, Known, Node, Sort, Statement, VariableId};

/// The most expressions in a program, including its functions.
pub const MOST: usize = 4_000_000;

/// The possible meanings of the names in a script.
#[derive(Clone)]
pub struct Words<'a> {
    /// The macros, functions, globals and aliases of the tapset library.
    pub definitions: &'a Definitions<'a>,
    /// The user's scripts, whose names take precedence.
    pub scripts: Vec<&'a Script>,
    /// Whether the script runs in guru mode, `stap -g`.
    pub guru: bool,
    /// The runtime, for conditions on it.
    pub runtime: Runtime,
    /// What functions can read anywhere: types and global variables of the kernel.
    pub everywhere: Rc<dyn Context + 'a>,
    signatures: Rc<RefCell<FxHashMap<*const ast::Function, Signature>>>,
    globals: Rc<RefCell<FxHashMap<*const ast::Global, Shape>>>,
}

/// The sort of a global, and those of its indexes if their number is known.
type Shape = (Sort, Option<Vec<Sort>>);

/// The sorts of a function's parameters and result, by its own body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Its parameters, in order.
    pub parameters: Vec<Sort>,
    /// Its result.
    pub result: Sort,
}

/// Handlers that run together, and everything that they use.
pub struct Program<'a> {
    pub(super) words: Words<'a>,
    pub(super) variables: Vec<Variable<'a>>,
    pub(super) functions: Vec<Function<'a>>,
    pub(super) handlers: Vec<Handler<'a>>,
    /// In the order in which they were found.
    pub(super) findings: Vec<Finding>,
    /// Whether functions are represented by their [`Words::signature`], without their bodies.
    brief: bool,
    /// The only function whose body is read nevertheless.
    only: Option<FunctionId>,
    /// The tapset files in use, in the order in which they were found.
    files: Vec<u32>,
    /// The number of functions whose bodies have been read.
    linked: usize,
    /// The number of files whose probes were returned.
    given: usize,
    known_functions: FxHashMap<*const ast::Function, FunctionId>,
    known_globals: FxHashMap<*const ast::Global, VariableId>,
    /// Whether nobody asks for the findings.
    pub(super) silent: bool,
    reported: FxHashSet<(Place, Trouble, String)>,
    /// Whether what some nodes mean depends on types that are still unknown.
    pub(super) undecided: bool,
    pub(super) nodes: usize,
}

#[derive(Debug)]
pub(super) struct Variable<'a> {
    pub name: &'a str,
    pub place: Place,
    pub sort: Sort,
    pub known: Known,
    /// `None` if still unknown.
    pub arity: Option<usize>,
    pub indexes: Vec<Sort>,
    pub global: Option<&'a ast::Global>,
    /// Whether it is a parameter, which has a value without an assignment.
    pub parameter: bool,
}

pub(super) struct Function<'a> {
    pub declaration: &'a ast::Function,
    pub parameters: Vec<VariableId>,
    pub locals: Vec<VariableId>,
    pub result: Sort,
    pub known: Known,
    pub body: Statement<'a>,
    /// Whether a call has side effects, because of its C.
    pub acts: bool,
    /// Globals that its C reads and writes.
    pub reads: Vec<VariableId>,
    pub writes: Vec<VariableId>,
    /// Whether the next function of the name may run after it.
    pub falls_through: bool,
    /// Whether a handler is known to call it.
    pub reached: bool,
}

pub(super) struct Handler<'a> {
    pub body: Statement<'a>,
    /// The conditions for it to run.
    pub conditions: Vec<Node<'a>>,
    pub found: Found<'a>,
}

impl Program<'_> {
    /// Whether it is compiled as with `stap -g`.
    pub fn is_guru(&self) -> bool {
        self.words.guru
    }
}

impl<'a> Words<'a> {
    /// The names of a library, for scripts without guru mode in a kernel module.
    pub fn new(definitions: &'a Definitions<'a>, everywhere: Rc<dyn Context + 'a>) -> Self {
        let (runtime, signatures, globals) = (Runtime::Kernel, Rc::default(), Rc::default());
        Self { definitions, scripts: vec![], guru: false, runtime, everywhere, signatures, globals }
    }

    /// Whether a file is a user's script.
    pub(super) fn is_script(&self, file: u32) -> bool {
        self.scripts.iter().any(|script| script.file == file)
    }

    /// The functions of a name visible in a file, in the order in which they are tried.
    pub(super) fn functions(&self, name: &str, file: u32) -> Vec<&'a ast::Function> {
        let of_scripts = self.scripts.iter().flat_map(|script| &script.functions);
        let mut all: Vec<_> = of_scripts.filter(|f| f.name == name).collect();
        all.extend(self.definitions.functions(name));
        all.retain(|f| !f.private || f.place.file == file);
        all.sort_by_key(|f| f.priority.unwrap_or(0));
        all
    }

    pub(super) fn global(&self, name: &str, file: u32) -> Option<&'a ast::Global> {
        let of_scripts = self.scripts.iter().flat_map(|script| &script.globals);
        let mut all = of_scripts.filter(|g| g.name == name).chain(self.definitions.globals(name));
        all.find(|g| !g.private || g.place.file == file)
    }

    /// Functions with names similar to an undefined one.
    pub(super) fn similar_functions(&self, name: &str) -> Vec<String> {
        let own = self.scripts.iter().flat_map(|script| &script.functions).map(|f| &*f.name);
        crate::nearest::nearest(name, own.chain(self.definitions.function_names()), 3)
    }

    /// Why a file may not call a function (elaborate.cxx of 4.8, `functioncall_security_check`).
    pub(super) fn forbids(&self, function: &ast::Function, file: u32) -> Option<&'static str> {
        let FunctionBody::Embedded(embedded) = &function.body else { return None };
        let marked = |mark: &str| embedded.code.contains(mark);
        match (self.runtime == Runtime::Bpf, marked("/* bpf */")) {
            (true, false) => return Some("it cannot be used with the bpf runtime"),
            (false, true) => return Some("it can be used only with the bpf runtime"),
            _ => {}
        }
        (marked("/* guru */") && !self.guru && self.is_script(file)).then_some("it needs guru mode (stap -g)")
    }

    /// The signature of a function. Each is inferred once, together with the functions that it calls.
    pub fn signature(&self, function: &'a ast::Function) -> Signature {
        if let Some(known) = self.signatures.borrow().get(&std::ptr::from_ref(function)) {
            return known.clone();
        }
        let mut program = Program::silent(self.clone());
        program.function(function);
        program.link_functions();
        program.infer();
        let mut signatures = self.signatures.borrow_mut();
        for id in 0..program.functions.len() {
            let signature = program.signature(id);
            signatures.entry(std::ptr::from_ref(program.functions[id].declaration)).or_insert(signature);
        }
        program.signature(0)
    }

    /// The sorts of a tapset's global, as far as the probes of its tapset determine them.
    fn shape(&self, global: &'a ast::Global) -> Shape {
        let key = std::ptr::from_ref(global);
        if let Some(known) = self.globals.borrow().get(&key) {
            return known.clone();
        }
        let mut program = Program::silent(self.clone());
        let Some(id) = program.global(&global.name, global.place.file) else { return (Sort::Unknown, None) };
        for probe in self.definitions.probes(global.place.file) {
            program.add(&[&probe.body], &[], &*self.everywhere);
        }
        program.link_functions();
        program.infer();
        let variable = &program.variables[id.0 as usize];
        let shape = (variable.sort, variable.arity.map(|_| variable.indexes.clone()));
        self.globals.borrow_mut().insert(key, shape.clone());
        shape
    }
}

impl<'a> Program<'a> {
    /// A program without handlers.
    pub fn new(words: Words<'a>) -> Self {
        Self {
            words,
            variables: vec![],
            functions: vec![],
            handlers: vec![],
            findings: vec![],
            brief: false,
            only: None,
            files: vec![],
            linked: 0,
            given: 0,
            known_functions: FxHashMap::default(),
            known_globals: FxHashMap::default(),
            silent: false,
            reported: FxHashSet::default(),
            undecided: false,
            nodes: 0,
        }
    }

    /// A program without findings.
    pub(super) fn silent(words: Words<'a>) -> Self {
        Self { silent: true, ..Self::new(words) }
    }

    /// A program that represents functions by their signatures: sufficient for the locals of a handler.
    pub(super) fn brief(words: Words<'a>) -> Self {
        Self { brief: true, ..Self::new(words) }
    }

    /// A program that reads only this function, and represents others by their signatures.
    pub(super) fn of_function(words: Words<'a>, function: &'a ast::Function) -> Self {
        let mut program = Self::brief(words);
        program.only = Some(program.function(function));
        program
    }

    /// Adds a handler: its parts in the order in which they run, and the conditions for it.
    pub fn add(
        &mut self,
        parts: &[&'a ast::Statement],
        conditions: &[&'a ast::Expression],
        context: &dyn Context,
    ) {
        let mut linker = Linker::new(self, context);
        let body = linker.parts(parts);
        let conditions = linker.conditions(conditions);
        let found = linker.finish();
        self.handlers.push(Handler { body, conditions, found });
    }

    /// The probes of tapsets in use, which run as well. Each is returned once; adding them may lead to more.
    pub fn probes_of_tapsets(&mut self) -> Vec<&'a ast::Probe> {
        self.link_functions();
        let new = &self.files[self.given..];
        let probes = new.iter().flat_map(|file| self.words.definitions.probes(*file)).collect();
        self.given = self.files.len();
        probes
    }

    fn uses_file(&mut self, file: u32) {
        if !self.files.contains(&file) && !self.words.is_script(file) {
            self.files.push(file);
        }
    }

    /// Reads the bodies of called functions, and of those that they call.
    pub(super) fn link_functions(&mut self) {
        while let Some(function) = self.functions.get(self.linked) {
            let next = self.linked;
            let is_read = !self.brief || self.only == Some(FunctionId(next as u32));
            if let (true, FunctionBody::Statement(body)) = (is_read, &function.declaration.body) {
                let parameters = function.parameters.clone();
                let everywhere = self.words.everywhere.clone();
                let mut linker =
                    Linker::new(self, &*everywhere).of_function(FunctionId(next as u32), &parameters);
                let body = linker.parts(&[body]);
                let locals = linker.finish().locals;
                let function = &mut self.functions[next];
                (function.body, function.locals) = (body, locals);
            }
            self.linked += 1;
        }
    }

    /// The function of a declaration.
    pub(super) fn function(&mut self, declaration: &'a ast::Function) -> FunctionId {
        let key = std::ptr::from_ref(declaration);
        if let Some(&known) = self.known_functions.get(&key) {
            return known;
        }
        let id = FunctionId(self.functions.len() as u32);
        self.known_functions.insert(key, id);
        self.uses_file(declaration.place.file);
        let mut sorts: Vec<Sort> = declaration.parameters.iter().map(|p| p.declared.into()).collect();
        let mut result = Sort::from(declaration.result);
        if self.brief && (result == Sort::Unknown || sorts.contains(&Sort::Unknown)) {
            let signature = self.words.signature(declaration);
            (sorts, result) = (signature.parameters, signature.result);
        }
        let parameters = declaration.parameters.iter().zip(sorts);
        let parameters = parameters.map(|(parameter, sort)| {
            let of = Variable { sort, parameter: true, ..Variable::scalar(&parameter.name, parameter.place) };
            self.variable(of)
        });
        let parameters = parameters.collect();
        let mut function = Function {
            declaration,
            parameters,
            locals: vec![],
            result,
            known: Known::Not,
            body: Statement::Nothing,
            acts: false,
            reads: vec![],
            writes: vec![],
            falls_through: false,
            reached: false,
        };
        if let (false, FunctionBody::Embedded(embedded)) = (self.brief, &declaration.body) {
            function.acts = !embedded.code.contains("/* pure */");
            function.falls_through = embedded.code.contains("STAP_NEXT;");
            (function.reads, function.writes) = self.named_in_c(&embedded.code, embedded.place);
        }
        self.functions.push(function);
        id
    }

    /// The globals that C code declares to read and write.
    pub(super) fn named_in_c(&mut self, code: &str, place: Place) -> (Vec<VariableId>, Vec<VariableId>) {
        let mut named = |mark: &str| {
            let names = code.split(mark).skip(1).filter_map(|rest| Some(rest.split_once(" */")?.0));
            let mut found = vec![];
            for name in names {
                match self.global(name, place.file) {
                    Some(global) => found.push(global),
                    None => self.fault(
                        place,
                        Trouble::Name,
                        name,
                        "C names a global that nothing declares",
                        vec![],
                    ),
                }
            }
            found
        };
        (named("/* pragma:read:"), named("/* pragma:write:"))
    }

    /// The global of a name, as visible in a file.
    pub(super) fn global(&mut self, name: &str, file: u32) -> Option<VariableId> {
        let declaration = self.words.global(name, file)?;
        let key = std::ptr::from_ref(declaration);
        if let Some(&known) = self.known_globals.get(&key) {
            return Some(known);
        }
        self.uses_file(declaration.place.file);
        let (sort, indexes) = match &declaration.value {
            Some(ast::Literal::Number(_)) => (Sort::Long, Some(vec![])),
            Some(ast::Literal::String(_)) => (Sort::String, Some(vec![])),
            None if self.brief => self.words.shape(declaration),
            None => (Sort::Unknown, None),
        };
        let (arity, indexes) = (indexes.as_ref().map(Vec::len), indexes.unwrap_or_default());
        let global = Some(declaration);
        let scalar = Variable::scalar(&declaration.name, declaration.place);
        let of = Variable { sort, arity, indexes, global, ..scalar };
        let id = self.variable(of);
        self.known_globals.insert(key, id);
        Some(id)
    }

    pub(super) fn variable(&mut self, variable: Variable<'a>) -> VariableId {
        self.variables.push(variable);
        VariableId(self.variables.len() as u32 - 1)
    }

    /// Reports an error, once for each place.
    pub(super) fn fault(
        &mut self,
        place: Place,
        trouble: Trouble,
        what: &str,
        why: impl Into<String>,
        instead: Vec<String>,
    ) {
        if !self.silent && self.reported.insert((place, trouble, what.to_owned())) {
            self.findings.push(Finding { place, trouble, what: what.to_owned(), why: why.into(), instead });
        }
    }

    fn signature(&self, id: usize) -> Signature {
        let function = &self.functions[id];
        let sort = |id: &VariableId| self.variables[id.0 as usize].sort;
        Signature { parameters: function.parameters.iter().map(sort).collect(), result: function.result }
    }
}

impl<'a> Variable<'a> {
    pub fn scalar(name: &'a str, place: Place) -> Self {
        Self {
            name,
            place,
            sort: Sort::Unknown,
            known: Known::Not,
            arity: None,
            indexes: vec![],
            global: None,
            parameter: false,
        }
    }
}
