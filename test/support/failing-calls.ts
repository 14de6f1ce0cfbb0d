import { env } from 'cloudflare:test';
import type { OutageMode } from './outage';

const MINUTE = 60_000;

/** The ways in which a call fails. */
export const MODES: OutageMode[] = ['before', 'after', 'kill before', 'kill after'];

/** Whether every call fails in turn, as `npm run faults` has it. The test-suite takes some of them. */
export const isExhaustive = env.FAULTS === 'all';
/** What a test with all of its failures may take. */
export const FAULTS_TIMEOUT = { timeout: isExhaustive ? 120 * MINUTE : 2 * MINUTE };

/** The step from one call that fails to the next. */
export function strideOf(stride: number): number {
  return isExhaustive ? 1 : stride;
}

/**
 * The calls that fail in turn, counted from 1.
 * @param stride in the test-suite, the step from one to the next
 * @param turn in the test-suite, where to begin: so that each mode looks at others
 */
export function failingCalls(calls: number, stride: number, turn = 0): number[] {
  const step = strideOf(stride);
  const first = 1 + (turn % step);
  return Array.from({ length: Math.max(0, Math.ceil((calls - first + 1) / step)) }, (_, i) => first + i * step);
}
