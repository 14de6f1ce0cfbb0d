import type { Context as HonoContext } from 'hono';
import { invalidRequest } from '../errors';
import { anyAccess, type NamedQueries, type Preload } from '../http/access';
import { readJson, readObject } from '../http/input';
import { isJsonObject, type JsonObject } from '../lib/json';
import { callTool, type McpEnv } from './call-tool';
import { createServer, serveMessage } from './server';
import { TOOLS } from './tools';

/** Makes the queries of the tool that a message calls, to run with the authentication. */
const queriesOfTool: Preload<NamedQueries> = async (c, reader, account, callerId) => {
  const { method, params } = (await readObject(c, readJson)) ?? {};
  if (method !== 'tools/call' || !isJsonObject(params)) return {};
  const input = { reader, account, callerId, fields: fieldsOf(params.arguments), now: c.var.runtime.now() };
  return (await findTool(params.name)?.preload?.(input)) ?? {};
};

/** Admits every agent key and user token. Each tool then says whether it admits the caller. */
export const mcpAccess = anyAccess(queriesOfTool);

/** Answers one message of an MCP client. */
export async function answerMessage(c: HonoContext<McpEnv>): Promise<Response> {
  const message = await readJson(c);
  if (Array.isArray(message)) {
    throw invalidRequest([{ path: 'body', message: 'must be one JSON-RPC message, not a list of them' }]);
  }
  const server = createServer(c.var.context.principal, TOOLS, async (name, fields) => {
    const tool = findTool(name);
    return tool ? callTool(c, tool, fieldsOf(fields)) : null;
  });
  return serveMessage(server, c.req.raw, message);
}

function findTool(name: unknown) {
  return TOOLS.find((tool) => tool.name === name);
}

/** The arguments of a call; none if they are not an object. */
function fieldsOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
