import { and, eq } from 'drizzle-orm';
import { agents, permissionContents, permissions, reviews } from './schema';

/** Joins a permission with its agent. */
export const isAgentOfPermission = eq(agents.number, permissions.agent);

/** Joins a permission with its review, if a review policy routed it. */
export const isReviewOfPermission = and(
  eq(reviews.account, permissions.account),
  eq(reviews.id, permissions.id),
);

/** Joins a permission with its input and preview, if it has any. */
export const isContentsOfPermission = and(
  eq(permissionContents.account, permissions.account),
  eq(permissionContents.id, permissions.id),
);
