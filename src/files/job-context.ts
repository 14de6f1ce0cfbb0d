import type { ArtifactContext } from './artifact';
import type { FileRow } from './file-records';
import type { Lease, LeaseContext } from './lease';
import type { StateStore } from './saved-state';

/** How a job is divided. */
export interface JobSizes {
  /** Bytes of a part of an upload, at least 5 MiB in R2. */
  part: number;
  /**
   * Rows and bytes of a slice. It may become twice as long, so that fewer bytes have to be saved
   * with its state.
   */
  sliceRows: number;
  sliceBytes: number;
  /** Slices of a job, after which a new message continues with CPU time of its own. */
  slices: number;
  /** Rows that a producer reads at a time; fewer after failed attempts. */
  batchRows: number;
}

export const JOB_SIZES: JobSizes = {
  part: 8 * 2 ** 20,
  sliceRows: 2 ** 16,
  sliceBytes: 64 * 2 ** 20,
  slices: 16,
  batchRows: 4_096,
};

export interface JobContext extends Omit<ArtifactContext, 'file'>, LeaseContext {
  sizes: JobSizes;
}

/** A file whose lease this job holds. */
export interface Job extends JobContext {
  file: FileRow;
  lease: Lease;
  store: StateStore;
}
