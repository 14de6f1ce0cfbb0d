import type { Context as HonoContext } from 'hono';
import { invalidRequest } from '../errors';
import { anyAccess } from '../http/access';
import { readJson, readObject } from '../http/input';
import type { NamedQueries, Preload } from '../http/preload';
import { isJsonObject, type JsonObject } from '../lib/json';
import { callTool, type McpEnv } from './call-tool';
import { omitNullParams, omitRefusedNulls } from './nulls';
import { createServer, serveMessage } from './server';
import type { Tool } from './tool';
import { TOOLS } from './tools';

/** Makes the queries of the tool that a message calls, to run with the authentication. */
const preloadTool: Preload<NamedQueries> = async (c, reader, caller) => {
  const message = await readObject(c, readJson);
  if (message?.method !== 'tools/call' || !isJsonObject(message.params)) return {};
  const { name, arguments: fields } = message.params;
  const tool = findTool(name);
  if (!tool?.preload) return {};
  return tool.preload({
    reader,
    account: caller.account,
    callerId: caller.id,
    unvalidatedArguments: argumentsOf(tool, fields),
    now: c.var.runtime.now(),
  });
};

/** Admits every agent key and user token. Each tool then says whether it admits the caller. */
export const mcpAccess = anyAccess(preloadTool);

/** Answers one message of an MCP client. */
export async function answerMessage(c: HonoContext<McpEnv>): Promise<Response> {
  const message = await readJson(c);
  if (Array.isArray(message)) {
    throw invalidRequest([
      { path: 'body', message: 'must be one JSON-RPC message, not a list of them' },
    ]);
  }
  const server = createServer(c.var.context.principal, TOOLS, async (name, fields) => {
    const tool = findTool(name);
    return tool ? callTool(c, tool, argumentsOf(tool, fields)) : null;
  });
  return serveMessage(server, c.req.raw, isJsonObject(message) ? omitNullParams(message) : message);
}

function findTool(name: unknown) {
  return TOOLS.find((tool) => tool.name === name);
}

/** The arguments of a call; none if they are not an object. */
function argumentsOf(tool: Tool, value: unknown): JsonObject {
  return isJsonObject(value) ? omitRefusedNulls(tool.input(), value) : {};
}
