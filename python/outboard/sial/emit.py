"""Writes the byte code of a program without mistakes."""

from __future__ import annotations

from dataclasses import dataclass, field

from outboard.sial import tree
from outboard.sial.accesses import Surroundings
from outboard.sial.emit_expressions import ExpressionWriter
from outboard.sial.expressions import is_block
from outboard.sial.opcodes import ASSIGNMENTS, Op
from outboard.sial.records import MAX_LOOP_INDICES, NONE, Record
from outboard.sial.selectors import element
from outboard.sial.source import Place
from outboard.sial.symbols import Array, Index, Int, Scalar
from outboard.sial.tree import Form, Proc

SCHEDULES = ("static", "balanced", "guided", "measured")
_SIMPLE = {"return": Op.RETURN, "stop": Op.STOP}


@dataclass(slots=True)
class StatementWriter:
    """Writes statements. `procs` has the numbers of all procs that are written."""

    out: ExpressionWriter
    procs: dict[Proc, int]
    _loops: list[tuple[int, tree.Loop]] = field(default_factory=list)
    _conditions: list[tree.Relation] = field(default_factory=list)
    _section: int = NONE
    _sections: int = 0

    def body(self, body: list[tree.Statement]) -> None:
        """Writes the statements of a body."""
        for one in body:
            self._statement(one)

    def _statement(self, one: tree.Statement) -> None:
        add, pools = self.out.add, self.out.pools
        match one:
            case tree.Loop():
                self._loop(one)
            case tree.Section():
                self._write_section(one)
            case tree.GpuRegion():
                add(Op.GPU_ON, one.place)
                self.body(one.body)
                add(Op.GPU_OFF, one.place)
            case tree.If():
                self._if(one)
            case tree.Call() if one.proc:
                add(Op.CALL, one.place, a=self.procs[one.proc])
            case tree.Simple():
                self._simple(one)
            case tree.Assign() if one.form:
                self._assign(one, one.form)
            case tree.Release():
                add(Op.BLOCK_RELEASE, one.place, a=pools.selector(one.target))
            case tree.Put() if one.form:
                self._put(one, one.form)
            case tree.Get():
                self._get(one)
            case tree.WholeArray():
                op = Op.CREATE if one.word == "create" else Op.DELETE
                add(op, one.place, a=self._array(one.name))
            case tree.Allocate():
                self._allocate(one)
            case tree.Collective():
                self._collective(one)
            case tree.AssertSame():
                self._assert_same(one)
            case tree.Broadcast():
                self.out.value(one.worker)
                add(Op.BROADCAST_STATIC, one.place, a=self._array(one.name))
                self.out.drop(1)
            case tree.Print():
                self._print(one)
            case tree.Execute():
                self._execute(one)
            case tree.Persist():
                op = Op.SET_PERSISTENT if one.word == "set_persistent" else Op.RESTORE_PERSISTENT
                scalar = isinstance(one.name.symbol, Scalar)
                number = self._scalar(one.name) if scalar else self._array(one.name)
                label = pools.string(one.label.value)
                add(op, one.place, x=0 if scalar else 1, a=number, b=label)

    def _array(self, name: tree.Name) -> int:
        assert isinstance(name.symbol, Array)
        return self.out.pools.array(name.symbol)

    def _scalar(self, name: tree.Name) -> int:
        assert isinstance(name.symbol, Int | Scalar)
        return self.out.pools.variable(name.symbol)

    def _code(self, number: int) -> Record:
        return self.out.pools.program["code"][number]

    @property
    def _next(self) -> int:
        return len(self.out.pools.program["code"])

    # --- control flow --------------------------------------------------------------------------

    def _loop(self, one: tree.Loop) -> None:
        program, pools = self.out.pools.program, self.out.pools
        number = len(program["loop"])
        indices = [pools.index(index) for index in one.symbols]
        name = one.schedule.value if one.schedule else ""
        record: Record = {
            "kind": 2 if one.word == "pardo" else 1 if one.parent else 0,
            "count": len(indices),
            "schedule": pools.string(name) if name in SCHEDULES else NONE,
            "section": self._section if one.word == "pardo" else NONE,
            "indices": indices + [NONE] * (MAX_LOOP_INDICES - len(indices)),
        }
        program["loop"].append(record)
        record["begin"] = self.out.add(Op.LOOP_BEGIN, one.place, a=number)
        for where in one.where:
            self.out.relation(where.relation)
            self.out.add(Op.WHERE, where.place, a=number)
            self.out.drop(1)
        record["body"] = self._next
        self._loops.append((number, one))
        self.body(one.body)
        self._loops.pop()
        record["end"] = self.out.add(Op.LOOP_END, one.place, a=number)

    def _write_section(self, one: tree.Section) -> None:
        self._section = self._sections
        self._sections += 1
        self.out.add(Op.SECTION_BEGIN, one.place, a=self._section)
        number = self._section
        self.body(one.body)
        self._section = NONE
        self.out.add(Op.SECTION_END, one.place, a=number)

    def _if(self, one: tree.If) -> None:
        assert one.relation
        self.out.relation(one.relation)
        over = self.out.add(Op.JUMP_IF_FALSE, one.place)
        self.out.drop(1)
        self._conditions.append(one.relation)
        self.body(one.then)
        if one.otherwise:
            end = self.out.add(Op.JUMP, one.place)
            self._code(over)["a"] = self._next
            self.body(one.otherwise)
            self._code(end)["a"] = self._next
        else:
            self._code(over)["a"] = self._next
        self._conditions.pop()

    def _simple(self, one: tree.Simple) -> None:
        if one.word in _SIMPLE:
            self.out.add(_SIMPLE[one.word], one.place)
        elif one.word in ("exit", "cycle"):
            op = Op.LOOP_EXIT if one.word == "exit" else Op.LOOP_CYCLE
            self.out.add(op, one.place, a=self._loops[-1][0])
        else:
            self.out.add(Op.BARRIER, one.place, x=int(one.word == "server_barrier"))

    # --- blocks --------------------------------------------------------------------------------

    def _assign(self, one: tree.Assign, form: Form) -> None:
        add, pools, place = self.out.add, self.out.pools, one.place
        x = ASSIGNMENTS[one.operator]
        if isinstance(one.target, tree.NameUse):
            self._assign_name(one, form, x)
            return
        if form.kind.startswith("region"):
            self._region(one, form, x)
            return
        if form.value is not None:
            self.out.value(form.value)
            self.out.drop(1)
        blocks = [pools.selector(one.target)] + [pools.selector(block) for block in form.blocks]
        op = Op[form.kind.upper()]
        if op in (Op.BLOCK_ADD, Op.BLOCK_SUBTRACT, Op.BLOCK_SLICE, Op.BLOCK_INSERT):
            x = 0
        add(op, place, x=x, **dict(zip("abc", blocks, strict=False)))

    def _assign_name(self, one: tree.Assign, form: Form, x: int) -> None:
        add, pools = self.out.add, self.out.pools
        symbol = one.target.name.symbol
        if form.kind == "static_copy":
            assert isinstance(form.value, tree.NameUse)
            number = self._array(one.target.name)
            add(Op.STATIC_COPY, one.place, x=x, a=number, b=self._array(form.value.name))
            return
        assert form.value is not None
        self._scalar_value(form)
        if isinstance(symbol, Array):
            add(Op.STATIC_FILL, one.place, x=x, a=pools.array(symbol))
        else:
            op = Op.STORE_INT if isinstance(symbol, Int) else Op.STORE_SCALAR
            add(op, one.place, x=x, a=self._scalar(one.target.name))

    def _scalar_value(self, form: Form) -> None:
        assert form.value is not None
        if form.kind == "push_contraction":
            left, right = (self.out.pools.selector(block) for block in form.blocks)
            self.out.add(Op.PUSH_CONTRACTION, form.value.place, a=left, b=right)
        else:
            self.out.value(form.value)
            self.out.drop(1)

    def _region(self, one: tree.Assign, form: Form, x: int) -> None:
        assert isinstance(one.target, tree.Reference)
        region = form.blocks[0] if form.kind == "region_load" else one.target
        self.out.bounds(region)
        self.out.drop(2 * len(region.items))
        array = self._array(region.name)
        if form.value is not None:
            self.out.value(form.value)
            self.out.drop(1)
            self.out.add(Op.REGION_FILL, one.place, x=x, a=array)
        elif form.kind == "region_load":
            block = self.out.pools.selector(one.target)
            self.out.add(Op.REGION_LOAD, one.place, a=block, b=array)
        else:
            block = self.out.pools.selector(form.blocks[0])
            self.out.add(Op.REGION_STORE, one.place, a=array, b=block)

    def _put(self, one: tree.Put, form: Form) -> None:
        x, target = ASSIGNMENTS[one.operator], self.out.pools.selector(one.target)
        if form.value is not None:
            self.out.value(form.value)
            self.out.drop(1)
            self.out.add(Op.PUT_SCALAR, one.place, x=x, a=target)
        else:
            block = self.out.pools.selector(form.blocks[0])
            self.out.add(Op.PUT_BLOCK, one.place, x=x, a=target, b=block)

    def _get(self, one: tree.Get) -> None:
        program = self.out.pools.program
        selector = self.out.pools.selector(one.target)
        access = len(program["access"])
        around = Surroundings(self._loops[::-1], self._conditions)
        loops = around.listed()
        record: Record = {
            "instruction": self._next,
            "selector": selector,
            "flags": around.flags(),
            "count": len(loops),
            "loops": loops + [NONE] * (MAX_LOOP_INDICES - len(loops)),
        }
        program["access"].append(record)
        self.out.add(Op.GET, one.place, a=selector, b=access)

    def _allocate(self, one: tree.Allocate) -> None:
        target, allocates = one.target, one.word == "allocate"
        if isinstance(target, tree.NameUse):
            self.out.add(Op.DEALLOCATE_ARRAY, one.place, a=self._array(target.name))
        elif target.region:
            self.out.bounds(target)
            self.out.drop(2 * len(target.items))
            op = Op.ALLOCATE_CONTIGUOUS if allocates else Op.DEALLOCATE_CONTIGUOUS
            self.out.add(op, one.place, a=self._array(target.name))
        else:
            op = Op.ALLOCATE if allocates else Op.DEALLOCATE
            self.out.add(op, one.place, a=self.out.pools.selector(target))

    # --- collectives ---------------------------------------------------------------------------

    def _collective(self, one: tree.Collective) -> None:
        symbol = one.name.symbol
        if isinstance(symbol, Array):
            assert isinstance(one.value, tree.NameUse)
            a, b = self._array(one.name), self._array(one.value.name)
            self.out.add(Op.COLLECTIVE_STATIC, one.place, a=a, b=b)
            return
        value = one.value
        if isinstance(value, tree.Binary) and (is_block(value.left) or is_block(value.right)):
            blocks = [
                side for side in (value.left, value.right) if isinstance(side, tree.Reference)
            ]
            self._scalar_value(Form("push_contraction", value, blocks))
        else:
            self.out.value(value)
            self.out.drop(1)
        op = Op.COLLECTIVE_INT if isinstance(symbol, Int) else Op.COLLECTIVE_SCALAR
        self.out.add(op, one.place, a=self._scalar(one.name))

    def _assert_same(self, one: tree.AssertSame) -> None:
        symbol = one.name.symbol
        if isinstance(symbol, Array):
            self.out.add(Op.ASSERT_SAME_STATIC, one.place, a=self._array(one.name))
        else:
            op = Op.ASSERT_SAME_INT if isinstance(symbol, Int) else Op.ASSERT_SAME_SCALAR
            self.out.add(op, one.place, a=self._scalar(one.name))

    # --- output and super-instructions ---------------------------------------------------------

    def _print(self, one: tree.Print) -> None:
        add, pools, value = self.out.add, self.out.pools, one.value
        x = int(one.word == "println")
        if isinstance(value, tree.Text):
            add(Op.PRINT_STRING, one.place, x=x, a=pools.string(value.value))
            return
        if isinstance(value, tree.Reference) and (element(value) or is_block(value)):
            add(Op.PRINT_BLOCK, one.place, x=x, a=pools.selector(value))
            return
        if isinstance(value, tree.NameUse):
            match value.name.symbol:
                case Int() as symbol:
                    add(Op.PRINT_INT_VARIABLE, one.place, x=x, a=pools.variable(symbol))
                case Scalar() as symbol:
                    add(Op.PRINT_SCALAR_VARIABLE, one.place, x=x, a=pools.variable(symbol))
                case Index() as symbol:
                    add(Op.PRINT_INDEX, one.place, x=x, a=pools.index(symbol))
                case Array() as symbol:
                    add(Op.PRINT_STATIC, one.place, x=x, a=pools.array(symbol))
            return
        kind = self.out.value(value)
        add(Op.PRINT_INT if kind == "int" else Op.PRINT_SCALAR, one.place, x=x)
        self.out.drop(1)

    def _execute(self, one: tree.Execute) -> None:
        assert one.special
        for argument in one.arguments:
            self._argument(argument, argument.place)
        number = self.out.pools.super_instruction(one.special)
        self.out.add(Op.EXECUTE, one.place, a=number, b=len(one.arguments))

    def _argument(self, one: tree.Expression, place: Place) -> None:
        add, pools = self.out.add, self.out.pools
        match one:
            case tree.Reference() if one.region:
                self.out.bounds(one)
                self.out.drop(2 * len(one.items))
                add(Op.ARGUMENT_REGION, place, a=self._array(one.name))
            case tree.Reference():
                add(Op.ARGUMENT_BLOCK, place, a=pools.selector(one))
            case tree.IntNumber():
                add(Op.ARGUMENT_INT_CONSTANT, place, a=pools.int_constant(one.value))
            case tree.RealNumber():
                add(Op.ARGUMENT_SCALAR_CONSTANT, place, a=pools.scalar_constant(one.value))
            case tree.Text():
                add(Op.ARGUMENT_STRING, place, a=pools.string(one.value))
            case tree.NameUse():
                match one.name.symbol:
                    case Int() as symbol:
                        add(Op.ARGUMENT_INT, place, a=pools.variable(symbol))
                    case Scalar() as symbol:
                        add(Op.ARGUMENT_SCALAR, place, a=pools.variable(symbol))
                    case Index() as symbol:
                        add(Op.ARGUMENT_INDEX, place, a=pools.index(symbol))
                    case Array() as symbol:
                        add(Op.ARGUMENT_ARRAY, place, a=pools.array(symbol))
