import type { ToolAnnotations } from '@modelcontextprotocol/server';
import type { SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { Runtime } from '../env';
import type { Context, Principal, Reader } from '../http/context';
import type { LoadedRows, NamedQueries } from '../http/preload';
import type { JsonObject } from '../lib/json';
import { lazy } from '../lib/lazy';
import { describeSchema } from './describe-schema';
import { resultFields, type ToolAnswer } from './result';

/** The input for the queries of a tool. */
interface PreloadInput {
  reader: Reader;
  /** SQL for the number of the caller's account. */
  account: SQL<number>;
  /** SQL for the caller's id. */
  callerId: SQL;
  unvalidatedArguments: JsonObject;
  /** Milliseconds since the epoch. */
  now: number;
}

/** One call of a tool, whose caller was admitted and whose arguments are valid. */
export interface ToolCall<P extends Principal, I, Q extends NamedQueries> {
  context: Context<P>;
  input: I;
  loaded: LoadedRows<Q>;
  /** Authenticates the caller again and runs the queries again. */
  reload: () => Promise<LoadedRows<Q>>;
  /** The running clock. The clock of the context is fixed for the request. */
  clock: Runtime;
}

/**
 * A tool of the MCP server. It does what one operation of the HTTP API does, with the same
 * function.
 */
interface ToolDefinition<
  P extends Principal,
  I extends z.ZodType,
  O extends z.ZodObject,
  Q extends NamedQueries,
> {
  name: string;
  title: string;
  /** Tells a model when to call the tool. */
  description: string;
  annotations: ToolAnnotations;
  /**
   * Returns the caller, if they may call the tool.
   * @throws Problem the one with which the operation of the HTTP API refuses them
   */
  admit: (principal: Principal) => P;
  input: () => I;
  output: () => O;
  /** Makes the queries that run in the round trip of the authentication. */
  preload?: (input: PreloadInput) => Q | Promise<Q>;
  run(call: ToolCall<P, z.output<I>, Q>): Promise<ToolAnswer<z.output<O>>>;
}

/** A tool as the server lists it. */
interface ListedTool {
  name: string;
  title: string;
  description: string;
  annotations: ToolAnnotations;
  inputSchema: { type: 'object' };
  outputSchema: { type: 'object' };
}

export type Tool = ReturnType<typeof defineTool>;

/** Makes a tool from its definition. */
export function defineTool<
  P extends Principal,
  I extends z.ZodType,
  O extends z.ZodObject,
  Q extends NamedQueries = Record<never, never>,
>(definition: ToolDefinition<P, I, O, Q>) {
  const { name, title, description, annotations } = definition;
  const [input, output] = [lazy(definition.input), lazy(definition.output)];
  return {
    // Each tool runs only with what its own `admit`, `input` and `preload` made.
    ...(definition as ToolDefinition<Principal, z.ZodType, z.ZodObject, NamedQueries>),
    input,
    listed: lazy(
      (): ListedTool => ({
        name,
        title,
        description,
        annotations: { title, ...annotations, openWorldHint: false },
        inputSchema: describeSchema(input(), 'input'),
        outputSchema: describeSchema(z.object({ ...resultFields, ...output().shape }), 'output'),
      }),
    ),
  };
}
