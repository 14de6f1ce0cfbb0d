import * as z from 'zod';
// Imported by name: a value of `z.core` would bring all of Zod into the Worker's start, with its
// texts in 60 languages.
import { $ZodRegistry } from 'zod/v4/core';

/** The descriptions of schemas, without the names by which the OpenAPI document refers to them. */
class InlineDescriptions extends $ZodRegistry<Record<string, unknown>> {
  override get(schema: z.core.$ZodType) {
    const { id: _, ...description } = z.globalRegistry.get(schema) ?? {};
    return description;
  }
}

/**
 * Describes an object as JSON Schema 2020-12 without references, which not every client resolves.
 */
export function describeSchema(schema: z.ZodType, io: 'input' | 'output'): { type: 'object' } {
  const { $schema: _, ...described } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    metadata: new InlineDescriptions(),
    override: ({ zodSchema, jsonSchema }) => {
      // Zod leaves it out for fields with a transformation.
      if (io === 'input' && zodSchema._zod.def.type === 'default') {
        jsonSchema.default = (zodSchema._zod.def as z.core.$ZodDefaultDef)
          .defaultValue as z.core.JSONSchema.JSONSchema['default'];
      }
    },
  });
  return described as { type: 'object' };
}
