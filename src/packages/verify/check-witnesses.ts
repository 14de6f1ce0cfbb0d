import { readFile } from 'node:fs/promises';
import type { Checkpoint } from './core/checkpoint.ts';
import { CannotCheck, Fault, type Report } from './core/findings.ts';
import { parseNote } from './core/note.ts';
import {
  type Cosignature,
  findCosignatures,
  isQuorum,
  readWitnessPolicy,
  type WitnessPolicy,
} from './core/witness-policy.ts';

/**
 * Checks whether the witnesses of a trust policy cosigned a checkpoint, and adds the result to the
 * report: a forged cosignature is a fault, too few of them are not checked.
 * @param path the file of the policy (https://c2sp.org/tlog-policy)
 * @throws CannotCheck if the policy cannot be read or is malformed
 */
export async function checkWitnesses(
  report: Report,
  checkpoint: Checkpoint,
  path: string,
): Promise<void> {
  const policy = await readPolicy(path);
  try {
    addResult(report, policy, await findCosignatures(parseNote(checkpoint.note), policy));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    report.faults.push(new Fault('checkpoint', `The checkpoint ${error.message}`));
  }
}

async function readPolicy(path: string): Promise<WitnessPolicy> {
  try {
    return await readWitnessPolicy(await readFile(path, 'utf8'));
  } catch (error) {
    throw new CannotCheck(`The policy in ${path} cannot be used: ${(error as Error).message}`);
  }
}

function addResult(report: Report, policy: WitnessPolicy, found: Cosignature[]): void {
  const names = found.map(({ witness, time }) => `${witness} (${time})`).join(', ');
  if (!isQuorum(policy, new Set(found.map(({ witness }) => witness)))) {
    report.unchecked.push(
      `Whether the log shows the same to everybody: the policy asks for ${policy.quorum}, and ${names || 'no witness'} cosigned the checkpoint.`,
    );
    return;
  }
  if (found.length > 0)
    report.proven.push(
      `Witnesses of your policy cosigned the checkpoint: ${names}. Each of them saw that the log had only grown.`,
    );
}
