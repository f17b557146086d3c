//! One of two kernels that are compared, and how types are spelled in both.
use super::overview::Overview;
use crate::query::index::functions::Scope;
use crate::query::spec::ModuleScope;
use crate::query::types::c_declaration::declare;
use crate::query::verdict::Judge;
use probeidx_format::View;
use probeidx_format::id::{ObjectId, TypeId};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// One of the two kernels.
pub(super) struct Side<'a, 's> {
    /// Its index.
    pub view: &'a View<'a>,
    /// Its rules.
    pub judge: Judge<'a, 'static>,
    /// The objects that are compared.
    pub scope: Scope,
    /// Whether both indexes are based on debug information. Otherwise, one of them lacks inlined copies and files.
    pub is_whole: bool,
    /// See [`Both`](super::Both).
    pub is_strict: bool,
    /// Of all its functions, if most are compared.
    pub overview: Option<&'s Overview>,
    spelled: &'s Spelled,
    /// Of the types that were asked for.
    types: RefCell<FxHashMap<TypeId, Spelling>>,
}

/// The spellings of types in both kernels; equal ones have the same number.
#[derive(Default)]
pub(super) struct Spelled {
    numbers: RefCell<FxHashMap<Rc<str>, u32>>,
    texts: RefCell<Vec<Rc<str>>>,
}

/// The number of a spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spelling(u32);

impl<'a, 's> Side<'a, 's> {
    /// A kernel of which all modules are compared, or vmlinux alone.
    pub fn new(view: &'a View<'a>, with_modules: bool, is_whole: bool, spelled: &'s Spelled) -> Self {
        let scope = Scope::new(view, if with_modules { &ModuleScope::Any } else { &ModuleScope::Kernel });
        Self {
            view,
            judge: Judge::new(view),
            scope,
            is_whole,
            is_strict: false,
            overview: None,
            spelled,
            types: RefCell::default(),
        }
    }
    /// The spelling of a type, as in a cast. Cost: writes it the first time.
    pub fn spelling(&self, type_id: Option<TypeId>) -> Spelling {
        let spelled = || self.spelled_as(&declare(self.view, type_id, ""));
        match type_id {
            Some(id) => *self.types.borrow_mut().entry(id).or_insert_with(spelled),
            None => spelled(),
        }
    }
    /// A type of which only the spelling is known.
    pub fn spelled_as(&self, text: &str) -> Spelling {
        Spelling(self.spelled.number(text))
    }
    /// How a type is spelled.
    pub fn text(&self, spelling: Spelling) -> String {
        self.spelled.texts.borrow()[spelling.0 as usize].to_string()
    }
    /// The name of a module; `None` for vmlinux.
    pub fn module(&self, object: ObjectId) -> Option<&'a [u8]> {
        let name = self.view.string(self.view.objects.get(object.index())?.name);
        (!name.is_empty()).then_some(name)
    }
}

impl Spelled {
    fn number(&self, text: &str) -> u32 {
        if let Some(number) = self.numbers.borrow().get(text) {
            return *number;
        }
        let text: Rc<str> = text.into();
        let mut texts = self.texts.borrow_mut();
        texts.push(Rc::clone(&text));
        let number = texts.len() as u32 - 1;
        self.numbers.borrow_mut().insert(text, number);
        number
    }
}
