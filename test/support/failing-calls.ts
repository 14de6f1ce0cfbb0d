import { depth } from './depth';
import type { OutageMode } from './outage';

const MINUTE = 60_000;
/** A shallow run fails one of this many calls that a deep run fails. */
const SHALLOW = 20;

/** The ways in which a call fails. */
export const MODES: OutageMode[] = ['before', 'after', 'kill before', 'kill after'];

/** The options of a test that fails calls in turn: two hours are enough for every single call. */
export const FAULTS_TIMEOUT = depth.isExhaustive ? { timeout: 120 * MINUTE } : {};

/**
 * The distance between two failing calls: 1 in an exhaustive run, `stride` in a deep one, more in a
 * shallow one.
 */
export function strideOf(stride: number): number {
  return depth.isExhaustive ? 1 : stride * depth.runs(SHALLOW, 1);
}

/**
 * The calls that fail in turn, counted from 1: every one in an exhaustive run, and at least one in
 * any run.
 * @param stride the distance between two failing calls in a deep run
 * @param turn shifts the first failing call, so that each mode fails other calls
 */
export function failingCalls(calls: number, stride: number, turn = 0): number[] {
  const step = depth.isExhaustive ? 1 : stride;
  const first = 1 + (turn % step);
  const deep = Array.from(
    { length: Math.max(0, Math.ceil((calls - first + 1) / step)) },
    (_, i) => first + i * step,
  );
  const skipped = turn % Math.min(SHALLOW, deep.length);
  return deep.length === 0 ? [] : depth.cases(deep.slice(depth.runs(skipped, 0)), SHALLOW);
}
