//! Computes constants, and drops the branches that they decide (elaborate.cxx of SystemTap 4.8, `const_folder` and
//! `dead_control_remover`).
use super::tree::{Kind, Node, Part, Sort, Statement};

/// Computes this node if its operands are constants. Does not descend into the operands.
pub(super) fn one(node: &mut Node<'_>) {
    match &mut node.kind {
        Kind::Unary { operator, operand } => {
            let Some(value) = number(operand) else { return };
            let value = match *operator {
                "+" => value,
                "-" => value.wrapping_neg(),
                "!" => i64::from(value == 0),
                "~" => !value,
                _ => return,
            };
            *node = Node::new(node.place, Kind::Number(value));
        }
        Kind::Binary { operator, sides } => {
            if let Some(constant) = binary(operator, sides) {
                *node = Node::new(node.place, constant);
            } else if *operator == "."
                && let Some(kept) = without_empty(sides)
            {
                *node = kept;
            }
        }
        Kind::Ternary(parts) => {
            let [condition, then, otherwise] = &mut **parts;
            let Some(condition) = number(condition) else { return };
            *node = taken(if condition != 0 { then } else { otherwise });
        }
        _ => {}
    }
}

fn taken<'a>(node: &mut Node<'a>) -> Node<'a> {
    let empty = Node::new(node.place, Kind::Number(0));
    std::mem::replace(node, empty)
}

/// Folds everything in an expression.
pub(super) fn expression(node: &mut Node<'_>) {
    node.children_mut(&mut expression);
    one(node);
}

/// Folds everything in a statement, and drops unreachable code.
pub(super) fn statement(of: &mut Statement<'_>) {
    of.parts_mut(&mut |part| match part {
        Part::Expression(node) => expression(node),
        Part::Statement(inner) => statement(inner),
    });
    let whole = std::mem::replace(of, Statement::Nothing);
    *of = match whole {
        Statement::If { condition, then, otherwise } => match number(&condition) {
            Some(0) => *otherwise,
            Some(_) => *then,
            None => Statement::If { condition, then, otherwise },
        },
        Statement::For(parts) if number(&parts.condition) == Some(0) => match parts.before {
            Some(before) => Statement::Expression(before),
            None => Statement::Nothing,
        },
        Statement::Foreach(parts)
            if parts.limit.as_ref().and_then(number).is_some_and(|limit| limit <= 0) =>
        {
            Statement::Nothing
        }
        Statement::Block(mut statements) => {
            let leaves = |s: &Statement<'_>| matches!(s, Statement::Leave | Statement::Return(..));
            if let Some(last) = statements.iter().position(leaves) {
                statements.truncate(last + 1);
            }
            Statement::Block(statements)
        }
        other => other,
    };
}

/// The node's value, if it is a constant number.
pub(super) fn number(node: &Node<'_>) -> Option<i64> {
    match node.kind {
        Kind::Number(value) => Some(value),
        _ => None,
    }
}

fn binary<'a>(operator: &str, [left, right]: &[Node<'a>; 2]) -> Option<Kind<'a>> {
    if let (Kind::Text(left), Kind::Text(right)) = (&left.kind, &right.kind) {
        return match operator {
            "." => Some(Kind::Text(format!("{left}{right}").into())),
            _ => compared(operator, left.cmp(right)).map(Kind::Number),
        };
    }
    let value = match (number(left), number(right)) {
        // A division by zero may still be dropped, or fails when the script runs.
        (_, Some(0)) if matches!(operator, "/" | "%") => return None,
        (Some(l), Some(r)) => match operator {
            "+" => l.wrapping_add(r),
            "-" => l.wrapping_sub(r),
            "*" => l.wrapping_mul(r),
            "&" => l & r,
            "|" => l | r,
            "^" => l ^ r,
            ">>" => l >> r.clamp(0, 63),
            "<<" if r >= 64 => 0,
            "<<" => l << r.max(0),
            "/" => l.wrapping_div(r),
            "%" => l.wrapping_rem(r),
            "&&" => i64::from(l != 0 && r != 0),
            "||" => i64::from(l != 0 || r != 0),
            _ => compared(operator, l.cmp(&r))?,
        },
        (Some(l), None) => decided(operator, l).or_else(|| left_alone(operator, l, right))?,
        (None, Some(r)) if does_nothing(left) => {
            decided(operator, r).or_else(|| right_alone(operator, left, r))?
        }
        _ => return None,
    };
    Some(Kind::Number(value))
}

/// The value of `&&` and `||` if one side decides it.
fn decided(operator: &str, side: i64) -> Option<i64> {
    match (operator, side != 0) {
        ("&&", false) => Some(0),
        ("||", true) => Some(1),
        _ => None,
    }
}

/// The value decided by the left side, if the right side has no side effects.
fn left_alone(operator: &str, left: i64, right: &Node<'_>) -> Option<i64> {
    let value = match (operator, left) {
        ("*" | "&" | ">>" | "<<", 0) => 0,
        ("|" | ">>", -1) => -1,
        _ => return None,
    };
    (is_number(right) && does_nothing(right)).then_some(value)
}

/// The value decided by the right side alone.
fn right_alone(operator: &str, left: &Node<'_>, right: i64) -> Option<i64> {
    match (operator, right) {
        _ if !is_number(left) => None,
        ("*" | "&", 0) => Some(0),
        ("%", 1 | -1) => Some(0),
        ("|", -1) => Some(-1),
        _ => None,
    }
}

/// `"" . x`: only the other side.
fn without_empty<'a>(sides: &mut [Node<'a>; 2]) -> Option<Node<'a>> {
    let empty = |side: &Node<'_>| matches!(&side.kind, Kind::Text(text) if text.is_empty());
    let at = sides.iter().position(empty)?;
    (sides[1 - at].sort == Sort::String).then(|| taken(&mut sides[1 - at]))
}

/// Whether it is known to be a number: what is dropped before would tell nothing of the variables in it any more.
fn is_number(node: &Node<'_>) -> bool {
    node.sort == Sort::Long
}

fn compared(operator: &str, order: std::cmp::Ordering) -> Option<i64> {
    Some(i64::from(match operator {
        "==" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        ">" => order.is_gt(),
        "<=" => order.is_le(),
        ">=" => order.is_ge(),
        _ => return None,
    }))
}

/// Whether the node has no side effects, judged without its functions.
fn does_nothing(node: &Node<'_>) -> bool {
    let mut nothing = true;
    node.each(&mut |inner| {
        nothing &= !matches!(
            inner.kind,
            Kind::Assign { .. }
                | Kind::Step(_)
                | Kind::Call { .. }
                | Kind::Print { .. }
                | Kind::Foreign { pure: false, .. }
                | Kind::Read { written: true, .. }
                | Kind::Broken { written: true, .. }
        );
    });
    nothing
}
