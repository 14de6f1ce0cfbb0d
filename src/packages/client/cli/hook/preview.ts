import type { Preview } from '../../api.ts';
import type { JsonObject } from '../../json.ts';

/** The most characters of an argument in the preview. The whole input is shown below it. */
const MAX_VALUE = 2_000;

/** The most arguments in the preview. */
const MAX_FIELDS = 6;

/**
 * The preview of a tool call: its tool, its folder and its arguments, each compared with the input
 * by the service. What is too long for a preview is in the input only.
 */
export function previewOf(call: { tool: string; input: JsonObject; cwd: string }): Preview {
  const { tool, input, cwd } = call;
  const fields: NonNullable<Preview['fields']> = [];
  for (const [name, value] of Object.entries(input).slice(0, MAX_FIELDS)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (text.length > MAX_VALUE || text === '' || name === '') continue;
    const label = name === 'command' ? 'Command' : name;
    fields.push({ label, value: text, of: `/input/${escapePointer(name)}` });
  }
  fields.push(
    { label: 'Folder', value: cwd, of: '/cwd' },
    { label: 'Tool', value: tool, of: '/tool' },
  );
  return { title: `Use the tool ${tool}`, fields };
}

/** Escapes a name in a JSON Pointer (RFC 6901). */
function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
