import type { Clock } from '../../clock.ts';
import type { Countersign } from '../../countersign.ts';
import { toMilliseconds } from '../../duration.ts';
import type { GuardOptions } from '../../guard/guard.ts';
import { OutcomeUnknown } from '../../guard/report.ts';
import type { JsonObject } from '../../json.ts';
import type { ToolArguments } from '../../rules/rules.ts';
import { escapeText } from '../terminal/escape.ts';
import { errorOf, resultOf } from './answer.ts';
import { askFor } from './ask.ts';
import { type CallEnd, Continuations, isContinuation, type OnEnd } from './continuations.ts';
import type { Line } from './lines.ts';
import {
  type ClientMessage,
  INVALID_PARAMS,
  INVALID_REQUEST,
  keyOf,
  type OtherMessage,
  PARSE_ERROR,
  type RefusedMessage,
  type RequestId,
  readClientLine,
  refusalOf,
  type ToolCall,
} from './message.ts';
import {
  describeDenial,
  describeLostCall,
  describeRefusal,
  LOST_REQUEST,
  Overdue,
} from './refusal.ts';
import { RequestNames } from './request-names.ts';
import type { McpToolRules } from './tool-rules.ts';

interface GateOptions {
  client: Countersign;
  rules: McpToolRules;
  /** The key that tells the server from others, for the names of requests. */
  server: string[];
  /** Writes a line to the server, to the client, and for the person who runs the command. */
  toServer(line: string): void;
  toClient(line: string): void;
  notice(line: string): void;
  clock?: Clock;
}

type AskOptions = GuardOptions<ToolArguments>;

/**
 * How long after its wait a call is answered although the service does not answer, in milliseconds.
 */
const GRACE = 10_000;

/** Time between two progress notifications, in milliseconds. */
const PROGRESS_INTERVAL = 10_000;

/** Errors of JSON-RPC that a server defines itself begin here. */
const NOT_RUN = -32_000;

/** The client cancelled a call, or is gone. */
class Cancelled extends Error {}

/** A call was passed to the server, which answers it. */
class Passed extends Error {}

/** The server answered a call with an error. */
class CallFailed extends Error {}

/**
 * Stands between an MCP client and a server: no tool call reaches the server unless the rules or
 * people allow it.
 */
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
    this.#names = new RequestNames(options.client, { prefix: 'mcp', context: options.server });
  }

  /** Takes a line from the client. */
  fromClient(line: Line): void {
    if (this.#isClosed || (line instanceof Uint8Array && line.every(isSpace))) return;
    const { messages, isBatch } = readClientLine(line);
    const passed: string[] = [];
    for (const message of messages) {
      const text = this.#read(message);
      if (text !== null) passed.push(text);
    }
    if (passed.length === 0) return;
    const text = passed.join(',');
    this.#options.toServer(isBatch ? `[${text}]` : text);
  }

  /**
   * Returns the text of a message that may pass at once; null for one that is refused, answered or
   * asked for.
   */
  #read(message: ClientMessage): string | null {
    if (message.kind === 'refused') return this.#refuse(message);
    const { request } = message;
    if (request && this.#isInUse(request.id)) {
      return this.#refuse(
        refusalOf(request, INVALID_REQUEST, 'A request with this id is not answered yet.'),
      );
    }
    const onEnd = message.kind === 'call' ? this.#admit(message) : this.#admitOther(message);
    if (!onEnd) return null;
    const text = write(message.json);
    if (text === null) {
      return this.#refuse(refusalOf(request, PARSE_ERROR, 'The message is nested too deeply.'));
    }
    if (request) this.#continuations.expect(request, onEnd);
    return text;
  }

  /** An id in use stands for one request: until the gate or the server has answered it. */
  #isInUse(id: RequestId): boolean {
    return this.#asking.has(keyOf(id)) || this.#continuations.isRunning(id);
  }

  /** Takes note of a line from the server, which is passed to the client as it is. */
  fromServer(line: Uint8Array): void {
    this.#continuations.read(line);
  }

  /**
   * Ends all waits without an answer: the connection of one side is closed, and then that of the
   * other. Resolves when no call can reach the server any more.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const asking of this.#asking.values()) asking.abort(new Cancelled());
    this.#continuations.close();
    await Promise.all(this.#tasks);
  }

  /**
   * Lets a message pass that runs no tool, unless it is refused: then null.
   * @returns what takes its end
   */
  #admitOther({ request, cancels }: OtherMessage): OnEnd | null {
    if (request && isContinuation(request)) {
      const onEnd = this.#continuations.take(request);
      if (!onEnd) this.#refuse(refusalOf(request, INVALID_PARAMS, LOST_REQUEST));
      return onEnd;
    }
    return cancels === null || !this.#cancel(cancels) ? endOfNothing : null;
  }

  /**
   * Lets a call pass at once, unless it is answered or asked for: then null.
   * @returns what takes its end
   */
  #admit(call: ToolCall): OnEnd | null {
    const treatment = this.#options.rules.treatmentOf(call.tool);
    if (treatment === 'deny') {
      this.#notice(`denied ${JSON.stringify(call.tool)} by its rule`);
      this.#answer(call, describeDenial(call.tool));
      return null;
    }
    const { request } = call;
    if (isContinuation(request)) {
      const onEnd = this.#continuations.take(request);
      if (!onEnd) this.#answer(call, describeLostCall(call.tool));
      return onEnd;
    }
    if (treatment === 'allow') return endOfNothing;
    const key = keyOf(request.id);
    const stop = new AbortController();
    this.#asking.set(key, stop);
    const task = this.#ask(call, treatment, stop).finally(() => {
      stop.abort();
      if (this.#asking.get(key) === stop) this.#asking.delete(key);
      this.#tasks.delete(task);
    });
    this.#tasks.add(task);
    return null;
  }

  async #ask(call: ToolCall, options: AskOptions, stop: AbortController): Promise<void> {
    const { client } = this.#options;
    const { signal } = stop;
    const wait = toMilliseconds(options.wait, 'wait') ?? 0;
    this.#clock.sleep(wait + GRACE, signal).then(
      () => stop.abort(new Overdue()),
      () => {},
    );
    try {
      const run = async (input: JsonObject) => {
        // The use is taken, but the client has cancelled the call or is gone. One that is only
        // overdue still runs: it has no answer yet.
        if (signal.reason instanceof Cancelled) throw signal.reason;
        const params = { ...call.request.params, arguments: input };
        const line = JSON.stringify({ ...call.json, params });
        // From now on the server has the call: it answers it, and a cancellation is for the server.
        this.#asking.delete(keyOf(call.request.id));
        stop.abort(new Passed());
        const ended = new Promise<CallEnd>((resolve) => {
          this.#continuations.expect(call.request, resolve);
        });
        this.#options.toServer(line);
        requireSuccess(await ended);
      };
      const onPending = (url: string) => {
        this.#notice(`${JSON.stringify(call.tool)} waits for a decision: ${url}`);
        void this.#showProgress(call, url, signal);
      };
      await askFor(call, { client, names: this.#names, options, signal, onPending }, run);
    } catch (error) {
      const reason = signal.aborted ? signal.reason : error;
      if (reason instanceof Cancelled || reason instanceof Passed) return;
      const text = describeRefusal(reason, call.tool, client.baseUrl);
      const [firstLine = ''] = text.split('\n');
      this.#notice(firstLine);
      this.#answer(call, text);
    }
  }

  /** Tells the client that the call waits, so that it does not give up. */
  async #showProgress(
    { progressToken }: ToolCall,
    url: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (progressToken === null) return;
    const message = `Waits for a person to decide: ${url}`;
    for (let step = 1; !signal.aborted; step++) {
      // Small, because the server's own progress, which must be larger, may follow.
      const params = { progressToken, progress: step / 1000, message };
      const progress = { jsonrpc: '2.0', method: 'notifications/progress', params };
      this.#options.toClient(JSON.stringify(progress));
      await this.#clock.sleep(PROGRESS_INTERVAL, signal).catch(() => {});
    }
  }

  /**
   * Cancels a request. Tells whether it is a call that the server does not know: such a call has no
   * answer.
   */
  #cancel(id: RequestId): boolean {
    const asking = this.#asking.get(keyOf(id));
    asking?.abort(new Cancelled());
    if (!asking) this.#continuations.cancel(id);
    return asking !== undefined;
  }

  #refuse({ id, code, reason }: RefusedMessage): null {
    this.#notice(`refused a message of the client: ${reason}`);
    if (id !== undefined) this.#options.toClient(errorOf(id, code, reason));
    return null;
  }

  #answer({ request, isModern }: ToolCall, text: string): void {
    if (this.#isClosed) return;
    const { id, params } = request;
    let answer = resultOf(id, text, isModern);
    // The answer to a call that makes a task (revision 2025-11-25) is no result of a tool.
    if (Object.hasOwn(params, 'task')) answer = errorOf(id, NOT_RUN, text);
    this.#options.toClient(answer);
  }

  #notice(text: string): void {
    this.#options.notice(escapeText(text));
  }
}

/** Takes the end of what nobody was asked for. */
const endOfNothing: OnEnd = () => {};

/** @throws CallFailed, OutcomeUnknown */
function requireSuccess(end: CallEnd): void {
  if (end === 'failed') throw new CallFailed('The server answered with an error.');
  if (end === 'unknown') throw new OutcomeUnknown('The server gave no answer that tells.');
}

/** Writes a message as JSON; null for one that is nested deeper than the stack allows. */
function write(json: JsonObject): string | null {
  try {
    return JSON.stringify(json);
  } catch {
    return null;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}
