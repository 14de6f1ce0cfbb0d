import { expect, it } from 'vitest';
import { SliceSize } from '../../src/db/slice-size';

/** The slice sizes before and after slices with these durations in milliseconds. */
async function sizesAfter(durations: number[], largest?: number): Promise<number[]> {
  const size = new SliceSize(largest);
  let now = 0;
  const sizes = [size.rows];
  for (const duration of durations) {
    await size.measure(
      () => now,
      async () => {
        now += duration;
      },
    );
    sizes.push(size.rows);
  }
  return sizes;
}

it('the slice size grows after fast slices, shrinks after slow ones, and stays within its bounds', async () => {
  expect(await sizesAfter([10, 10, 10, 10, 10])).toEqual([100, 150, 225, 337, 500, 500]);
  expect(await sizesAfter([30, 60, 45])).toEqual([100, 100, 100, 100]);
  expect(await sizesAfter([61, 500, 500, 10])).toEqual([100, 50, 50, 50, 75]);
  expect(await sizesAfter([10, 10, 10, 10, 10, 10], 1_000)).toEqual([
    100, 150, 225, 337, 506, 759, 1_000,
  ]);
  expect(await sizesAfter([10, 500], 6)).toEqual([6, 6, 6]);
});
