import { dereference, type Schema, validate } from '@cfworker/json-schema';
import type { Json } from './world';

/** An operation of an OpenAPI document. */
export interface Operation {
  method: string;
  /** `/v1/agents/{id}` */
  template: string;
  /** The operation object of the document. */
  json: Json;
}

/** Gives access to the operations, references and schemas of an OpenAPI document. */
export class ApiDocument {
  readonly operations: Operation[];
  private readonly lookup: Record<string, Schema | boolean>;

  constructor(readonly json: Json) {
    this.lookup = dereference(json);
    this.operations = Object.entries<Json>(json.paths).flatMap(([template, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        template,
        json: operation,
      })),
    );
  }

  /** Resolves a reference; returns anything else unchanged. */
  resolve(part: Json): Json {
    if (!part?.$ref) return part;
    const names: string[] = part.$ref.split('/').slice(1);
    return names.reduce((node, name) => node[name], this.json);
  }

  /** The faults of a value by a schema of the document; empty if the value is valid. */
  findFaults(value: unknown, schema: Json): string[] {
    const { errors } = validate(value, this.resolve(schema), '2020-12', this.lookup, false);
    return errors.map(({ instanceLocation, error }) => `at ${instanceLocation}: ${error}`);
  }
}
