//! The functions of `<stdatomic.h>` to code.

use super::thread::{Operand, Target, ThreadCompiler};
use crate::ast::{Expr, ExprKind, Symbol};
use crate::code::{Insn, Rmw};
use crate::error::{Pos, Result};
use crate::int::Int;
use crate::lexer::clip;
use fencepost_trace::{FenceOrder, LoadOrder, RmwOrder, StoreOrder};

/// A memory order as it is written. Which operation may have which is for the conversions below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Relaxed,
    /// `consume` or `acquire`: every compiler takes the one for the other.
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

/// The order of a call, and where it stands.
#[derive(Clone, Copy)]
struct OrderAt {
    order: Order,
    pos: Pos,
}

impl OrderAt {
    fn load(self, what: &str) -> Result<LoadOrder> {
        match self.order {
            Order::Relaxed => Ok(LoadOrder::Relaxed),
            Order::Acquire => Ok(LoadOrder::Acquire),
            Order::SeqCst => Ok(LoadOrder::SeqCst),
            Order::Release | Order::AcqRel => Err(self.wrong(what, "relaxed, consume, acquire or seq_cst")),
        }
    }

    fn store(self) -> Result<StoreOrder> {
        match self.order {
            Order::Relaxed => Ok(StoreOrder::Relaxed),
            Order::Release => Ok(StoreOrder::Release),
            Order::SeqCst => Ok(StoreOrder::SeqCst),
            Order::Acquire | Order::AcqRel => Err(self.wrong("a store", "relaxed, release or seq_cst")),
        }
    }

    fn rmw(self) -> RmwOrder {
        match self.order {
            Order::Relaxed => RmwOrder::Relaxed,
            Order::Acquire => RmwOrder::Acquire,
            Order::Release => RmwOrder::Release,
            Order::AcqRel => RmwOrder::AcqRel,
            Order::SeqCst => RmwOrder::SeqCst,
        }
    }

    /// A relaxed fence is no fence.
    fn fence(self) -> Option<FenceOrder> {
        match self.order {
            Order::Relaxed => None,
            Order::Acquire => Some(FenceOrder::Acquire),
            Order::Release => Some(FenceOrder::Release),
            Order::AcqRel => Some(FenceOrder::AcqRel),
            Order::SeqCst => Some(FenceOrder::SeqCst),
        }
    }

    fn wrong(self, what: &str, expected: &str) -> crate::ParseError {
        self.pos.error(format!("invalid memory order for {what}: expected {expected}"))
    }
}

impl ThreadCompiler<'_> {
    /// A call; no operand if the function returns nothing.
    pub(super) fn call(&mut self, pos: Pos, function: Symbol, args: &[Expr]) -> Result<Option<Operand>> {
        let test = self.test;
        let name = test.names.text(function);
        let (base, explicit) = match name.strip_suffix("_explicit") {
            Some(base) => (base, true),
            None => (name, false),
        };
        let rmw = match base {
            "atomic_exchange" => Some(Rmw::Exchange),
            "atomic_fetch_add" => Some(Rmw::Add),
            "atomic_fetch_sub" => Some(Rmw::Sub),
            "atomic_fetch_and" => Some(Rmw::And),
            "atomic_fetch_or" => Some(Rmw::Or),
            "atomic_fetch_xor" => Some(Rmw::Xor),
            _ => None,
        };
        // How many arguments there are without orders, and how many orders an explicit call has.
        let (plain, orders) = match base {
            _ if rmw.is_some() => (2, 1),
            "atomic_load" | "atomic_flag_test_and_set" | "atomic_flag_clear" => (1, 1),
            "atomic_store" => (2, 1),
            "atomic_compare_exchange_strong" | "atomic_compare_exchange_weak" => (3, 2),
            "atomic_thread_fence" | "atomic_signal_fence" if !explicit => (1, 0),
            "atomic_init" if !explicit => (2, 0),
            _ => return Err(pos.error(format!("unknown function `{}`", clip(name)))),
        };
        let expected = plain + if explicit { orders } else { 0 };
        if args.len() != expected {
            return Err(pos.error(format!("`{name}` takes {expected} arguments, not {}", args.len())));
        }
        let order = match args.get(plain) {
            Some(arg) => self.order(arg)?,
            None => OrderAt { order: Order::SeqCst, pos },
        };
        if let Some(update) = rmw {
            return self.update(pos, name, update, args, order).map(Some);
        }
        match base {
            "atomic_load" => {
                let (at, ty) = self.pointer(&args[0])?;
                Ok(Some(self.load(at, ty, order.load("a load")?, pos)))
            }
            "atomic_store" => {
                let (at, ty) = self.pointer(&args[0])?;
                self.store_value(pos, (at, ty), &args[1], order.store()?)
            }
            "atomic_init" => self.initialise(pos, &args[0], &args[1]),
            "atomic_flag_test_and_set" => {
                let (at, ty) = self.pointer(&args[0])?;
                let (one, mark) = (self.constant(1, ty), self.mark());
                Ok(Some(self.rmw((at, ty), Rmw::Exchange, order.rmw(), one, mark, pos)))
            }
            "atomic_flag_clear" => {
                let (at, ty) = self.pointer(&args[0])?;
                let (order, zero) = (order.store()?, self.constant(0, ty));
                self.store(at, order, zero, pos);
                Ok(None)
            }
            "atomic_thread_fence" => {
                if let Some(order) = self.order(&args[0])?.fence() {
                    let site = self.site(pos);
                    self.insns.push(Insn::Fence { order, site });
                }
                Ok(None)
            }
            // orders only against a signal handler, of which there are none
            "atomic_signal_fence" => self.order(&args[0]).map(|_| None),
            _ => {
                let failure = match args.get(plain + 1) {
                    Some(arg) => self.order(arg)?.load("the failure of a compare-exchange")?,
                    None => LoadOrder::SeqCst,
                };
                let weak = base == "atomic_compare_exchange_weak";
                self.compare_exchange(pos, args, order.rmw(), failure, weak).map(Some)
            }
        }
    }

    fn store_value(
        &mut self,
        pos: Pos,
        (at, ty): (u32, Int),
        value: &Expr,
        order: StoreOrder,
    ) -> Result<Option<Operand>> {
        let mark = self.mark();
        let value = self.value(value)?;
        let value = self.convert(value, ty, mark);
        self.store(at, order, value, pos);
        self.release(mark);
        Ok(None)
    }

    /// `atomic_init`: a plain store.
    fn initialise(&mut self, pos: Pos, location: &Expr, value: &Expr) -> Result<Option<Operand>> {
        match self.pointee(location)? {
            Target::Shared { at, ty, .. } => self.store_value(pos, (at, ty), value, StoreOrder::Plain),
            Target::Private { slot, ty } => {
                let mark = self.mark();
                let value = self.value(value)?;
                self.assign(slot, ty, value);
                self.release(mark);
                Ok(None)
            }
        }
    }

    fn update(&mut self, pos: Pos, name: &str, update: Rmw, args: &[Expr], order: OrderAt) -> Result<Operand> {
        let (at, ty) = self.pointer(&args[0])?;
        if ty == Int::Bool && update != Rmw::Exchange {
            return Err(pos.error(format!("`{name}` is not defined for an atomic `bool`")));
        }
        let mark = self.mark();
        let operand = self.value(&args[1])?;
        let operand = self.convert(operand, ty, mark);
        Ok(self.rmw((at, ty), update, order.rmw(), operand, mark, pos))
    }

    /// The expected value is read after the desired one is known, and written only on failure.
    fn compare_exchange(
        &mut self,
        pos: Pos,
        args: &[Expr],
        success: RmwOrder,
        failure: LoadOrder,
        weak: bool,
    ) -> Result<Operand> {
        let (at, ty) = self.pointer(&args[0])?;
        let place = self.expected_place(&args[1], ty)?;
        let mark = self.mark();
        let desired = self.value(&args[2])?;
        let desired = self.convert(desired, ty, mark);
        let expected = match place {
            Target::Private { slot, ty } => Operand { slot, ty, constant: None },
            Target::Shared { at, ty, .. } => self.load(at, ty, LoadOrder::Plain, args[1].pos),
        };
        self.release(mark);
        let (dst, seen) = (self.temporary(), self.temporary());
        let site = self.site(pos);
        let (expected, desired) = (expected.slot, desired.slot);
        self.insns.push(Insn::CompareExchange { at, expected, desired, success, failure, weak, dst, site });
        let succeeded = Operand { slot: dst, ty: Int::Bool, constant: None };
        let seen = Operand { slot: seen, ty, constant: None };
        let done = self.branch(succeeded, false);
        match place {
            Target::Private { slot, ty } => self.assign(slot, ty, seen),
            Target::Shared { at, .. } => self.store(at, StoreOrder::Plain, seen, args[1].pos),
        }
        if let Some(done) = done {
            self.land(done);
        }
        self.release(mark + 1);
        Ok(succeeded)
    }

    /// Where the expected value is: `&r` or a plain parameter, of the location's type.
    fn expected_place(&self, arg: &Expr, location: Int) -> Result<Target> {
        let place = match arg.kind {
            ExprKind::AddressOf(name) => self.register_place(name, arg.pos)?,
            _ => self.pointee(arg)?,
        };
        let ty = match place {
            Target::Shared { atomic: true, .. } => {
                return Err(arg.pos.error("the expected value of a compare-exchange cannot be atomic"));
            }
            Target::Shared { ty, .. } | Target::Private { ty, .. } => ty,
        };
        if ty.size() != location.size() {
            return Err(arg.pos.error(format!("the expected value is `{ty}`, but the location is `{location}`")));
        }
        Ok(place)
    }

    /// The location behind a pointer argument.
    fn pointee(&self, arg: &Expr) -> Result<Target> {
        match arg.kind {
            ExprKind::Name(name) => self.target(name, arg.pos),
            _ => Err(arg.pos.error("expected a pointer: the name of a parameter")),
        }
    }

    /// The shared location behind the first argument of an atomic function.
    fn pointer(&self, arg: &Expr) -> Result<(u32, Int)> {
        match self.pointee(arg)? {
            Target::Shared { at, ty, .. } => Ok((at, ty)),
            // what an atomic function names is never private
            Target::Private { .. } => Err(arg.pos.error("expected a pointer to a shared location")),
        }
    }

    fn order(&self, arg: &Expr) -> Result<OrderAt> {
        let unknown = || arg.pos.error("expected a memory order such as `memory_order_relaxed`");
        let ExprKind::Name(name) = arg.kind else { return Err(unknown()) };
        let order = match self.test.names.text(name) {
            "memory_order_relaxed" => Order::Relaxed,
            "memory_order_consume" | "memory_order_acquire" => Order::Acquire,
            "memory_order_release" => Order::Release,
            "memory_order_acq_rel" => Order::AcqRel,
            "memory_order_seq_cst" => Order::SeqCst,
            _ => return Err(unknown()),
        };
        Ok(OrderAt { order, pos: arg.pos })
    }
}
