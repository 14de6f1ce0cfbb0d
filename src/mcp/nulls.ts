import type * as z from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../lib/json';

// Some clients, and models that have to fill in every field, send null for what they leave out.

/**
 * Returns a message whose `params`, or fields of these, are absent where they are null. The
 * arguments of a tool stay.
 */
export function omitNullParams({ params, ...message }: JsonObject): JsonObject {
  if (params === undefined || params === null) return message;
  if (!isJsonObject(params)) return { ...message, params };
  const { arguments: fields, ...others } = params;
  const shown = omitNulls(others) as JsonObject;
  return {
    ...message,
    params: fields === undefined || fields === null ? shown : { ...shown, arguments: fields },
  };
}

function omitNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(omitNulls);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, omitNulls(member)]));
}

/**
 * Returns arguments without the nulls that their schema refuses. Where it takes null, null is a
 * value.
 */
export function omitRefusedNulls(schema: z.ZodType, fields: JsonObject): JsonObject {
  const { error } = schema.safeParse(fields);
  if (!error) return fields;
  const kept = structuredClone(fields);
  for (const { path } of error.issues) omitNull(kept, path);
  return kept;
}

function omitNull(root: Json, path: PropertyKey[]): void {
  let parent: Json | undefined = root;
  for (const name of path.slice(0, -1)) {
    parent =
      typeof parent === 'object' && parent !== null
        ? (parent as JsonObject)[String(name)]
        : undefined;
  }
  const name = String(path.at(-1));
  if (isJsonObject(parent) && parent[name] === null) delete parent[name];
}
