import { canonicalJson, digestOf } from '../../canonical-json.ts';
import type { Clock } from '../../clock.ts';
import type { Countersign } from '../../countersign.ts';
import type { GuardOptions } from '../../guard/guard.ts';
import type { ToolArguments } from '../../rules/rules.ts';
import { escapeText } from '../terminal/escape.ts';
import { askFor } from './ask.ts';
import { Continuations } from './continuations.ts';
import {
  INVALID_REQUEST,
  type JsonObject,
  PARSE_ERROR,
  type RefusedMessage,
  type RequestId,
  readClientLine,
  type ToolCall,
} from './message.ts';
import { describeDenial, describeLostCall, describeRefusal, Overdue } from './refusal.ts';
import { RequestNames } from './request-names.ts';
import type { McpToolRules } from './tool-rules.ts';

interface GateOptions {
  client: Countersign;
  rules: McpToolRules;
  /** What tells the server from others, for the names of requests. */
  server: string[];
  /** Writes a line to the server, to the client, and for the person who runs the command. */
  toServer(line: string): void;
  toClient(line: string): void;
  notice(line: string): void;
  clock?: Clock;
}

type AskOptions = GuardOptions<ToolArguments>;

/** How long after its wait a call is answered although the service does not answer, in milliseconds. */
const GRACE = 10_000;

/** Time between two progress notifications, in milliseconds. */
const PROGRESS_INTERVAL = 10_000;

/** Errors of JSON-RPC that a server defines itself begin here. */
const NOT_RUN = -32_000;

/** The client cancelled a call, or is gone. */
class Cancelled extends Error {}

/** Stands between an MCP client and a server: no tool call reaches the server unless the rules or people allow it. */
export class Gate {
  readonly #options: GateOptions;
  readonly #clock: Clock;
  readonly #names: RequestNames;
  readonly #continuations = new Continuations();
  /** The calls that have not been decided, by their request ids. */
  readonly #asking = new Map<string, AbortController>();
  readonly #tasks = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#clock = options.clock ?? options.client.clock;
    this.#names = new RequestNames(options.client, options.server);
  }

  /** Takes a line from the client; null for one that is too long to be read. */
  fromClient(line: Uint8Array | null): void {
    if (this.#isClosed || line?.every(isSpace)) return;
    const { messages, isBatch } = readClientLine(line);
    const passed: JsonObject[] = [];
    for (const message of messages) {
      if (message.kind === 'refused') this.#refuse(message);
      else if (message.kind === 'other') {
        if (!this.#cancel(message.cancels)) passed.push(message.json);
      } else if (this.#admit(message)) passed.push(message.json);
    }
    if (passed.length > 0) this.#pass(isBatch ? passed : passed[0]);
  }

  #pass(json: unknown): void {
    let line: string | undefined;
    try {
      line = JSON.stringify(json);
    } catch {
      // Deeper than the stack allows.
      this.#refuse({ kind: 'refused', id: null, code: PARSE_ERROR, reason: 'The line is nested too deeply.' });
    }
    if (line !== undefined) this.#options.toServer(line);
  }

  /** Takes note of a line from the server, which is passed to the client as it is. */
  fromServer(line: Uint8Array): void {
    this.#continuations.read(line);
  }

  /**
   * Ends all waits without an answer: the connection of one side is closed, and then that of the other. Resolves when no call
   * can reach the server any more.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const asking of this.#asking.values()) asking.abort(new Cancelled());
    await Promise.all(this.#tasks);
  }

  /** Tells whether a call may pass at once. Otherwise it is answered, or asked for. */
  #admit(call: ToolCall): boolean {
    const key = keyOf(call.id);
    if (this.#asking.has(key)) {
      this.#refuse({ kind: 'refused', id: call.id, code: INVALID_REQUEST, reason: 'Another call has this id.' });
      return false;
    }
    const treatment = this.#options.rules.treatmentOf(call.tool);
    if (treatment === 'allow') return true;
    if (treatment === 'deny') {
      this.#notice(`denied ${JSON.stringify(call.tool)} by its rule`);
      this.#answer(call, describeDenial(call.tool));
      return false;
    }
    const stop = new AbortController();
    this.#asking.set(key, stop);
    const task = this.#ask(call, treatment, stop).finally(() => {
      stop.abort();
      this.#asking.delete(key);
      this.#tasks.delete(task);
    });
    this.#tasks.add(task);
    return false;
  }

  async #ask(call: ToolCall, options: AskOptions, stop: AbortController): Promise<void> {
    const { client } = this.#options;
    const { signal } = stop;
    this.#clock.sleep((options.wait ?? 0) + GRACE, signal).then(
      () => stop.abort(new Overdue()),
      () => {},
    );
    try {
      const digest = await digestOf(JSON.stringify([call.tool, canonicalJson(call.arguments)]));
      const run = (input: JsonObject) => {
        // The use is taken, but the client has cancelled the call or is gone. One that is only overdue still runs: it has
        // no answer yet.
        if (signal.reason instanceof Cancelled) throw signal.reason;
        if (call.isModern) this.#continuations.expect(call.id, digest);
        this.#options.toServer(JSON.stringify({ ...call.json, params: { ...call.params, arguments: input } }));
      };
      if (Object.hasOwn(call.params, 'inputResponses') || Object.hasOwn(call.params, 'requestState')) {
        if (this.#continuations.take(digest, call.params.requestState)) return run(call.arguments);
        return this.#answer(call, describeLostCall(call.tool));
      }
      const onPending = (url: string) => {
        this.#notice(`${JSON.stringify(call.tool)} waits for a decision: ${url}`);
        void this.#showProgress(call, url, signal);
      };
      await askFor(call, { client, names: this.#names, options, signal, onPending }, run);
    } catch (error) {
      const reason = signal.aborted ? signal.reason : error;
      if (reason instanceof Cancelled) return;
      const text = describeRefusal(reason, call.tool, client.baseUrl);
      this.#notice(text.split('\n')[0] as string);
      this.#answer(call, text);
    }
  }

  /** Tells the client that the call waits, so that it does not give up. */
  async #showProgress({ progressToken }: ToolCall, url: string, signal: AbortSignal): Promise<void> {
    if (progressToken === undefined) return;
    const message = `Waits for a person to decide: ${url}`;
    for (let step = 1; !signal.aborted; step++) {
      // Small, because the server's own progress, which must be larger, may follow.
      const params = { progressToken, progress: step / 1000, message };
      this.#options.toClient(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params }));
      await this.#clock.sleep(PROGRESS_INTERVAL, signal).catch(() => {});
    }
  }

  /** Tells whether the message cancelled a call that the server does not know. Such a call has no answer. */
  #cancel(id: RequestId | undefined): boolean {
    const asking = id === undefined ? undefined : this.#asking.get(keyOf(id));
    asking?.abort(new Cancelled());
    return asking !== undefined;
  }

  #refuse({ id, code, reason }: RefusedMessage): void {
    this.#notice(`refused a message of the client: ${reason}`);
    if (id !== undefined) this.#options.toClient(errorOf(id, code, reason));
  }

  #answer({ id, params, isModern }: ToolCall, text: string): void {
    if (this.#isClosed) return;
    // The answer to a call that makes a task (revision 2025-11-25) is no result of a tool.
    const isTask = Object.hasOwn(params, 'task');
    this.#options.toClient(isTask ? errorOf(id, NOT_RUN, text) : resultOf(id, text, isModern));
  }

  #notice(text: string): void {
    this.#options.notice(escapeText(text));
  }
}

function resultOf(id: RequestId, text: string, isModern: boolean): string {
  const result = { content: [{ type: 'text', text }], isError: true, ...(isModern && { resultType: 'complete' }) };
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

function errorOf(id: RequestId | null, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}

/** 1 and "1" are different ids. */
function keyOf(id: RequestId): string {
  return JSON.stringify(id);
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}
