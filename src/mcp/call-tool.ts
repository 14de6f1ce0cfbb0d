import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Context as HonoContext } from 'hono';
import type { Access } from '../http/access';
import type { Principal } from '../http/context';
import { parseFields } from '../http/input';
import type { NamedQueries } from '../http/preload';
import { problemOf } from '../http/problem';
import type { JsonObject } from '../lib/json';
import { parseId } from '../lib/typeid';
import { dataResult, problemResult } from './result';
import type { Tool } from './tool';

/** The environment of a message whose sender was authenticated. */
export type McpEnv = Access<Principal, NamedQueries>;

/**
 * Calls a tool. A refusal is a result too, which tells the model what to do.
 * @param fields the arguments, which have not been validated
 */
export async function callTool(
  c: HonoContext<McpEnv>,
  tool: Tool,
  fields: JsonObject,
): Promise<CallToolResult> {
  const { context, loaded, reload, runtime, requestId } = c.var;
  c.set('tool', tool.name);
  try {
    const principal = tool.admit(context.principal);
    const input = parseFields(tool.input(), fields);
    const answer = await tool.run({
      context: { ...context, principal },
      input,
      loaded,
      reload,
      clock: runtime,
    });
    const target = parseId('perm', String(fields.permission_id));
    if (target) c.set('target', target);
    return dataResult(answer);
  } catch (error) {
    const problem = await problemOf(error as Error, c);
    c.set('problem', problem.code);
    return problemResult(problem, requestId);
  }
}
