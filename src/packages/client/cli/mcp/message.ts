import { findJsonLoss } from '../../exact-json.ts';
import { isObject, type JsonObject } from '../../json.ts';
import { printableJson } from '../terminal/escape.ts';
import { type Line, LongLine } from './lines.ts';

/** The id of a request, which its answer repeats. */
export type RequestId = string | number;

/** A request of the client, as far as it decides what the server does. */
export interface ClientRequest {
  id: RequestId;
  method: string;
  params: JsonObject;
}

/** Error codes of JSON-RPC 2.0, section 5.1. */
export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const INVALID_PARAMS = -32_602;

/** A request to run a tool, checked field by field. */
export interface ToolCall {
  kind: 'call';
  request: ClientRequest;
  tool: string;
  arguments: JsonObject;
  /** The whole message. */
  json: JsonObject;
  progressToken: RequestId | null;
  /**
   * Whether the client speaks the revision 2026-07-28 or a later one, in which every request names
   * its revision.
   */
  isModern: boolean;
}

/** A message that runs no tool. */
export interface OtherMessage {
  kind: 'other';
  json: JsonObject;
  /** Null for a notification or a response. */
  request: ClientRequest | null;
  /** The request that this message cancels. */
  cancels: RequestId | null;
}

/** A message that must not reach the server. */
export interface RefusedMessage {
  kind: 'refused';
  /**
   * Of the request. Null if its id is null, which MCP forbids, or none at all: JSON-RPC 2.0 answers
   * such a request with null. Undefined for a notification, which has no answer.
   */
  id: RequestId | null | undefined;
  code: number;
  reason: string;
}

export type ClientMessage = ToolCall | OtherMessage | RefusedMessage;

/** The content of a line from the client. */
interface ClientLine {
  messages: ClientMessage[];
  isBatch: boolean;
}

// The server may read the same bytes in another way: take the first of two fields with the same
// name, or ignore upper and lower case, or end a line at a carriage return. So only known fields
// pass, and what is forwarded is never the line itself but what was understood of it.
const MESSAGE_FIELDS = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
const CALL_FIELDS = new Set([
  'name',
  'arguments',
  '_meta',
  'task',
  'inputResponses',
  'requestState',
]);

const CALL = 'tools/call';
/** Maximum length of a tool's name. */
export const MAX_NAME = 256;
const UNSEEN_IN_NAME = /[\p{C}\p{Zl}\p{Zp}\p{DI}]/u;
const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const decoder = new TextDecoder();

/** Reads a line from the client: a message, or a batch of messages (revision 2025-03-26). */
export function readClientLine(line: Line): ClientLine {
  if (line instanceof LongLine)
    return oneMessage(refuse(findId(line), PARSE_ERROR, 'The line is too long.'));
  let text: string;
  let json: unknown;
  try {
    text = strictDecoder.decode(line);
    json = JSON.parse(text);
  } catch {
    return oneMessage(refuse(guessId(line), PARSE_ERROR, 'The line is not JSON in UTF-8.'));
  }
  // Otherwise the server would get other arguments than the client sent.
  const loss = findJsonLoss(text);
  const fault = loss && `The line cannot be passed on as it is written. ${loss}`;
  if (!Array.isArray(json)) return oneMessage(readMessage(json, fault));
  if (json.length === 0) return oneMessage(refuse(null, INVALID_REQUEST, 'The batch is empty.'));
  return { messages: json.map((message) => readMessage(message, fault)), isBatch: true };
}

function oneMessage(message: ClientMessage): ClientLine {
  return { messages: [message], isBatch: false };
}

function readMessage(json: unknown, fault: string | null): ClientMessage {
  if (!isObject(json)) return refuse(null, INVALID_REQUEST, 'The message is not an object.');
  const { jsonrpc, id, method, params = {} } = json;
  const has = (name: string) => Object.hasOwn(json, name);
  const answerTo = idToAnswer(json);
  const invalid = (reason: string) => refuse(answerTo, INVALID_REQUEST, reason);

  if (fault) return invalid(fault);
  const unknown = Object.keys(json).find((name) => !MESSAGE_FIELDS.has(name));
  if (unknown !== undefined) return invalid(`The field ${quote(unknown)} is unknown.`);
  if (jsonrpc !== '2.0') return invalid('jsonrpc is not "2.0".');
  if (!has('method')) {
    if (has('params') || has('result') === has('error'))
      return invalid('The message is neither request nor response.');
    if (!isRequestId(id) && !(id === null && has('error')))
      return invalid('id is not a string or a whole number.');
    return { kind: 'other', json, request: null, cancels: null };
  }
  if (typeof method !== 'string') return invalid('method is not a string.');
  if (has('result') || has('error')) return invalid('The message is both request and response.');
  if (has('id') && !isRequestId(id)) return invalid('id is not a string or a whole number.');
  if (!isObject(params)) return refuse(answerTo, INVALID_PARAMS, 'params is not an object.');
  if (method !== CALL) {
    if (foldName(method) === CALL) return invalid(`The method is spelled ${CALL}.`);
    const message: OtherMessage = { kind: 'other', json, request: null, cancels: null };
    if (isRequestId(id)) message.request = { id, method, params };
    if (method === 'notifications/cancelled') message.cancels = asRequestId(params.requestId);
    return message;
  }
  if (!isRequestId(id)) return invalid(`${CALL} without an id is not allowed.`);
  return readCall(id, json, params);
}

function readCall(id: RequestId, json: JsonObject, params: JsonObject): ClientMessage {
  const invalid = (reason: string) => refuse(id, INVALID_PARAMS, reason);
  const unknown = Object.keys(params).find((name) => !CALL_FIELDS.has(name));
  if (unknown !== undefined) return invalid(`params: the field ${quote(unknown)} is unknown.`);
  const { name: tool, arguments: input = {}, _meta: meta = {} } = params;
  if (typeof tool !== 'string' || tool === '')
    return invalid('params.name is not the name of a tool.');
  if (tool.length > MAX_NAME) return invalid(`params.name has more than ${MAX_NAME} characters.`);
  if (UNSEEN_IN_NAME.test(tool)) return invalid('params.name has characters that cannot be seen.');
  if (!isObject(input)) return invalid('params.arguments is not an object.');
  if (!isObject(meta)) return invalid('params._meta is not an object.');
  return {
    kind: 'call',
    request: { id, method: CALL, params: { ...params, arguments: input } },
    tool,
    arguments: input,
    json,
    progressToken: asRequestId(meta.progressToken),
    isModern: Object.hasOwn(meta, PROTOCOL_VERSION),
  };
}

/**
 * Returns the id with which a message that is refused is answered; undefined for a notification,
 * which has no answer. Null for an id that cannot be given back, and for an invalid response: its
 * id is one of the server's.
 */
function idToAnswer(json: JsonObject): RefusedMessage['id'] {
  if (!Object.hasOwn(json, 'method')) return null;
  if (!Object.hasOwn(json, 'id')) return undefined;
  return asRequestId(json.id);
}

/**
 * Returns the id with which a line that is no text in UTF-8 is answered, if it is otherwise a
 * message.
 */
function guessId(line: Uint8Array): RefusedMessage['id'] {
  try {
    const json: unknown = JSON.parse(decoder.decode(line));
    if (isObject(json)) return idToAnswer(json);
    return null;
  } catch {
    return null;
  }
}

const STRING = /"(?:[^"\\]|\\.)*"/.source;
const ID = `"id"\\s*:\\s*(${STRING}|-?\\d+)`;
/** The members of a message before the ones that can be long. */
const FIRST_MEMBERS = new RegExp(
  `^\\s*\\{(?:\\s*(?:"(?:jsonrpc|method)"\\s*:\\s*${STRING}|${ID})\\s*,)*`,
);
const FIRST_ID = new RegExp(`[,{]\\s*${ID}`);
/**
 * A text cannot end so: only a brace closes a message, and only a member of the message stands
 * before it.
 */
const LAST_ID = new RegExp(`[,{]\\s*${ID}\\s*\\}\\s*$`);

/** Finds the id of a request that is too long: clients write it first or last. */
function findId({ start, end }: LongLine): RequestId | null {
  const [members = ''] = FIRST_MEMBERS.exec(decoder.decode(start)) ?? [];
  // Without a method it may be a response, whose id is one of the server's.
  if (!members.includes('"method"')) return null;
  const [, first] = FIRST_ID.exec(members) ?? [];
  const [, last] = LAST_ID.exec(decoder.decode(end)) ?? [];
  const source = first ?? last;
  if (source === undefined) return null;
  return asRequestId(JSON.parse(source));
}

/**
 * Makes names equal that only differ in how they are spelled: in case, width, composition or space.
 */
export function foldName(name: string): string {
  return name
    .normalize('NFKC')
    .replaceAll(/[\p{C}\p{Z}\p{DI}]/gu, '')
    .toLowerCase();
}

/** Whether a value can name a request: a string, or a whole number that a double holds exactly. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

function asRequestId(value: unknown): RequestId | null {
  if (isRequestId(value)) return value;
  return null;
}

function quote(name: string): string {
  return printableJson(name.slice(0, 100));
}

function refuse(id: RefusedMessage['id'], code: number, reason: string): RefusedMessage {
  return { kind: 'refused', id, code, reason };
}

/** A message. Only a notification has no id to answer. */
export function refusalOf(
  request: ClientRequest | null,
  code: number,
  reason: string,
): RefusedMessage {
  return { kind: 'refused', id: request?.id, code, reason };
}

/** 1 and "1" are different ids. */
export function keyOf(id: RequestId): string {
  return JSON.stringify(id);
}
