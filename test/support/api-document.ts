import { dereference, type Schema, validate } from '@cfworker/json-schema';
import type { Json } from './world';

/** An operation of the document. */
export interface Operation {
  method: string;
  /** `/v1/agents/{id}` */
  template: string;
  /** What the document says of it. */
  json: Json;
}

/** An OpenAPI document, to be asked. */
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

  /** What a reference stands for; anything else stands for itself. */
  resolve(part: Json): Json {
    if (!part?.$ref) return part;
    const names: string[] = part.$ref.split('/').slice(1);
    return names.reduce((node, name) => node[name], this.json);
  }

  /** What is wrong with a value by a schema of the document; empty when it is valid. */
  findFaults(value: unknown, schema: Json): string[] {
    const { errors } = validate(value, this.resolve(schema), '2020-12', this.lookup, false);
    return errors.map(({ instanceLocation, error }) => `at ${instanceLocation}: ${error}`);
  }
}
