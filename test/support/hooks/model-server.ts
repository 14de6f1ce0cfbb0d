import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A tool call that the model asks for. */
export interface ToolUse {
  name: string;
  /** Its arguments; a text for a tool that takes one, such as the `exec` of Codex. */
  input: object | string;
}

/** A tool call, or one that needs the results of those before it. */
export type NextToolUse = ToolUse | ((results: string[]) => ToolUse);

/** A server that speaks as a model does, without one. */
export interface ModelServer {
  origin: string;
  /** What each tool call gave the model, in the order of the calls. */
  results: string[];
  /** The names of the tools that the last request offered. */
  tools: string[];
  stop(): Promise<void>;
}

interface Turn {
  results: string[];
  tools: string[];
}

/**
 * Starts a stand-in for a model on loopback, for Claude Code (Messages API) and for Codex
 * (Responses API): it asks for the tool calls in their order, and then says `Done.`
 */
export async function startModelServer(calls: NextToolUse[]): Promise<ModelServer> {
  const state = { results: [] as string[], tools: [] as string[] };
  const server = createServer((request, response) => {
    void answer(request, response, calls, state);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    get results() {
      return state.results;
    },
    get tools() {
      return state.tools;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  calls: NextToolUse[],
  state: Turn,
): Promise<void> {
  const body = await text(request);
  const { pathname } = new URL(request.url ?? '', 'http://model');
  const readTurn = { '/v1/messages': readMessages, '/v1/responses': readResponses }[pathname];
  if (!readTurn || request.method !== 'POST') {
    response.writeHead(404).end('{}');
    return;
  }
  const turn = readTurn(JSON.parse(body));
  Object.assign(state, turn);
  const next = calls[turn.results.length];
  const call = typeof next === 'function' ? next(turn.results) : next;
  const events = pathname === '/v1/messages' ? messageEvents : responseEvents;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events(turn.results.length, call)) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

interface MessagesRequest {
  messages: { role: string; content: string | Block[] }[];
  tools?: { name: string }[];
}

interface Block {
  type: string;
  content?: unknown;
}

function readMessages({ messages, tools = [] }: MessagesRequest): Turn {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const results = blocks.filter(({ type }) => type === 'tool_result');
  return {
    results: results.map(({ content }) => textOf(content)),
    tools: tools.map(({ name }) => name),
  };
}

interface ResponsesRequest {
  input: { type: string; output?: unknown }[];
  tools?: { type: string; name?: string }[];
}

function readResponses({ input, tools = [] }: ResponsesRequest): Turn {
  const results = input.filter(({ type }) => type.endsWith('_call_output'));
  return {
    results: results.map(({ output }) => textOf(output)),
    tools: tools.map(({ name, type }) => name ?? type),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

type ServerEvent = { type: string } & Record<string, unknown>;

function messageEvents(number: number, call: ToolUse | undefined): ServerEvent[] {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = {
    id: `msg_${number}`,
    type: 'message',
    role: 'assistant',
    model: 'stand-in',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  const block = call
    ? { type: 'tool_use', id: `toolu_${number}`, name: call.name, input: {} }
    : { type: 'text', text: '' };
  const delta = call
    ? { type: 'input_json_delta', partial_json: JSON.stringify(call.input) }
    : { type: 'text_delta', text: 'Done.' };
  const end = { stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null };
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: end, usage },
    { type: 'message_stop' },
  ];
}

function responseEvents(number: number, call: ToolUse | undefined): ServerEvent[] {
  const id = `resp_${number}`;
  const usage = {
    input_tokens: 1,
    input_tokens_details: null,
    output_tokens: 1,
    output_tokens_details: null,
    total_tokens: 2,
  };
  const done = { role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] };
  const item = call
    ? { ...callItem(call), call_id: `call_${number}` }
    : { type: 'message', ...done };
  return [
    { type: 'response.created', response: { id } },
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { id: `item_${number}`, ...item },
    },
    { type: 'response.completed', response: { id, usage } },
  ];
}

function callItem({ name, input }: ToolUse): object {
  if (typeof input === 'string') return { type: 'custom_tool_call', name, input };
  return { type: 'function_call', name, arguments: JSON.stringify(input) };
}
