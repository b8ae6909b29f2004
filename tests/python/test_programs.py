# SPDX-License-Identifier: GPL-3.0-or-later
"""What JAX compiles for CPUs is read as another reader reads it: collectives that are issued, operations of products."""

import collections
import warnings

import icisim.jax as ij
import programs
import pytest
import second_reader


def compiled(name):
    fun, args, options = programs.PROGRAMS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ij.compile(fun, *args, topology="v5e:2x4", **options)


def test_there_are_thirty():
    assert len(programs.PROGRAMS) == 30


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_counts(name):
    c = compiled(name)
    issued, flops, loops = second_reader.count(c.as_text())
    result = ij.simulate(c, as_written=True)
    rows = result.rows()
    counted = collections.Counter()
    for row in rows:
        if row["category"] in second_reader.COLLECTIVES:
            counted[row["category"]] += row["occurrences"]
    assert dict(counted) == issued
    assert result.time_s > 0 and flops > 0
    products = sum(row["flops"] or 0 for row in rows)
    assert products == pytest.approx(flops, rel=1e-9)
    if not loops:  # it counts the body of a loop once, and element-wise work, too
        assert flops <= c.cost["flops"] <= 1.1 * flops


def test_the_second_reader_sees_loops():
    text = """HloModule m
%body (p: (s32[], f32[4,6])) -> (s32[], f32[4,6]) {
  %p = (s32[], f32[4,6]) parameter(0)
  %x = f32[4,6]{1,0} get-tuple-element(%p), index=1
  %g = f32[4,6]{1,0} all-reduce(%x), to_apply=%add
  %d = f32[4,4]{1,0} dot(%x, %g), lhs_contracting_dims={1}, rhs_contracting_dims={1}
}
ENTRY %main (a: f32[4,6]) -> f32[4,6] {
  %w = (s32[], f32[4,6]) while(%t), condition=%c, body=%body, backend_config={"known_trip_count":{"n":"7"}}
}
%c (p: (s32[], f32[4,6])) -> pred[] {
  %l = pred[] compare(%i, %n), direction=LT
}
"""
    # 7 trips of a product of 2 * 4 * 4 * 6 = 192 operations
    assert second_reader.count(text) == ({"all-reduce": 7}, 7 * 192, True)
