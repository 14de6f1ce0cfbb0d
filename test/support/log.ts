import { afterEach, beforeEach, expect, vi } from 'vitest';
import type { Answer, Json } from './world';

/** The lines that the service logs while a test runs. */
class WatchedLog {
  /** The lines as text. */
  lines: string[] = [];

  /** The lines as objects; throws for a line that is not JSON. */
  get entries(): Json[] {
    return this.lines.map((line) => JSON.parse(line));
  }

  /** The entries of an event. */
  of(event: string): Json[] {
    return this.entries.filter((entry) => entry.event === event);
  }

  /** Removes the lines so far. */
  clear(): void {
    this.lines = [];
  }
}

/** Captures the log in every test of a file, and prints it only if the test fails. */
export function watchLog(): WatchedLog {
  const log = new WatchedLog();
  beforeEach(() => {
    log.clear();
    for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
      vi.spyOn(console, method).mockImplementation(
        (...values) => void log.lines.push(values.map(String).join(' ')),
      );
    }
  });
  afterEach(({ task }) => {
    vi.restoreAllMocks();
    if (task.result?.state === 'fail') console.log(log.lines.join('\n'));
  });
  return log;
}

/**
 * The log line of a request; expects exactly one.
 * @param route the pattern of the route; null if no route matched
 */
export function requestLine(
  log: WatchedLog,
  method: string,
  route: string | null,
  answer: Answer,
): Json {
  const id = answer.headers.get('X-Request-Id');
  const lines = log.of('request').filter((entry) => entry.request_id === id);
  expect(lines).toHaveLength(1);
  const { trips, read, written } = answer.cost;
  expect(lines[0]).toMatchObject({
    method,
    route,
    status: answer.status,
    duration_ms: expect.any(Number),
    d1_trips: trips,
    rows_read: read,
    rows_written: written,
  });
  expect(lines[0].code).toBe(answer.status >= 400 ? answer.body.code : undefined);
  return lines[0];
}

/** The error lines that the service logs while a callback runs. */
export async function errorsDuring(callback: () => Promise<unknown>): Promise<Json[]> {
  const spy = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  try {
    await callback();
    return spy.mock.calls.map(([line]) => JSON.parse(line));
  } finally {
    spy.mockRestore();
  }
}
