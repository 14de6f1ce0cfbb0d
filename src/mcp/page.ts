import * as z from 'zod';
import type { Page } from '../http/page';
import { pageOf } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import { Permission } from '../permissions/permission';
import { ShownPermission, showPermission } from './permission';

/** A page of permissions as the tools show it. */
export const ShownPage = lazy(() => {
  const { has_more, next_cursor } = pageOf(Permission)().shape;
  return z.object({ permissions: z.array(ShownPermission()), has_more, next_cursor });
});

/** Shows a page of permissions, without the values of their tokens. */
export function showPage(
  { data, ...page }: Page<Permission>,
  publicUrl: string,
): LazyOutput<typeof ShownPage> {
  return {
    permissions: data.map((permission) => showPermission(withoutValue(permission), publicUrl)),
    ...page,
  };
}

function withoutValue({ token, ...permission }: Permission): Permission {
  const { value: _, ...summary } = token ?? {};
  return { ...permission, token: token && (summary as Permission['token']) };
}
