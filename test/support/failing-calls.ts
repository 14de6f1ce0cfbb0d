import { depth } from './depth';
import type { OutageMode } from './outage';

const MINUTE = 60_000;
/** How many failing calls of a deep run a shallow one has one of. */
const SHALLOW = 4;

/** The ways in which a call fails. */
export const MODES: OutageMode[] = ['before', 'after', 'kill before', 'kill after'];

/** What a test with all of its failures may take. */
export const FAULTS_TIMEOUT = { timeout: depth.isExhaustive ? 120 * MINUTE : 2 * MINUTE };

/**
 * The step from one call that fails to the next: 1 in an exhaustive run, `stride` in a deep one, more in a shallow one.
 */
export function strideOf(stride: number): number {
  return depth.isExhaustive ? 1 : stride * depth.runs(SHALLOW, 1);
}

/**
 * The calls that fail in turn, counted from 1: every one in an exhaustive run, and at least one in any run.
 * @param stride the step from one to the next, in a deep run
 * @param turn where to begin, so that each mode looks at other calls
 */
export function failingCalls(calls: number, stride: number, turn = 0): number[] {
  const step = depth.isExhaustive ? 1 : stride;
  const first = 1 + (turn % step);
  const deep = Array.from({ length: Math.max(0, Math.ceil((calls - first + 1) / step)) }, (_, i) => first + i * step);
  const skipped = turn % Math.min(SHALLOW, deep.length);
  return deep.length === 0 ? [] : depth.cases(deep.slice(depth.runs(skipped, 0)), SHALLOW);
}
