import { writeFile } from 'node:fs/promises';
import { command } from './command.ts';
import { Failure } from './failures.ts';
import { write } from './io.ts';
import { note } from './print.ts';

export const receipt = command({
  name: 'receipt',
  description: 'Downloads the receipt of a request: what was asked, decided and used, with proof.',
  args: {
    id: { type: 'positional', description: 'The id of the request, perm_…' },
    output: {
      type: 'string',
      short: 'o',
      description: 'The file; - is stdout, which is the default in a pipe',
      valueHint: 'file',
    },
  },
  notes: [
    'It needs permissions:read and audit:read. Anybody with the file and the public keys of the log can check it with ' +
      '`countersign verify`, also when the service is gone. It holds the arguments of the act, if the service has them.',
  ],
  examples: [
    'countersign receipt perm_01m7x1m1tre75vaz5yvpbmvt6m -o receipt.json',
    'countersign receipt perm_01m7x1m1tre75vaz5yvpbmvt6m | jq .complete',
  ],
  async run({ args, session }) {
    const { io, client } = session;
    // What agents wrote would act on the terminal.
    const output = args.output ?? (io.stdout.isTTY ? `${args.id}.json` : '-');
    const text = `${JSON.stringify(await client.getReceipt(args.id))}\n`;
    if (output === '-') return await write(io.stdout, text);
    await writeFile(output, text, { mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
      throw new Failure(`${output} cannot be written (${error.code}).`);
    });
    await note(session, `The receipt is in ${output}.`);
  },
});
