/** What the dashboard's modules share: a route's types by its path, and what each page is given. */

declare namespace Rest {
  type Method = "GET" | "PUT" | "POST" | "PATCH" | "DELETE";
  type Routes = { GET: GET; PUT: PUT; POST: POST; PATCH: PATCH; DELETE: DELETE };

  /** A part of a path that is known only when it runs is a parameter. */
  type Part<S extends string> = {} extends Record<S, 1> ? "*" : S;
  type Parts<P extends string> = P extends `${infer First}/${infer More}` ? `${Part<First>}/${Parts<More>}` : Part<P>;
  type Route<P extends string> = Parts<P extends `${infer Path}?${string}` ? Path : P>;

  /** Of a path that is no more than a string nothing is known; one that the API lacks answers `never`. */
  type Call<M extends Method, P extends string> = string extends P ? { body: any; answer: any }
    : Route<P> extends keyof Routes[M] ? Routes[M][Route<P>] : Route<P> extends `*${string}` ? { body: any; answer: any } : NoSuchRoute<M, P>;
  type NoSuchRoute<M, P> = { body: never; answer: never };
  type Body<M extends Method, P extends string> = Call<M, P> extends { body: infer B } ? B : never;
  type Answer<M extends Method, P extends string> = Call<M, P> extends { answer: infer A } ? A : never;
  type Item<P extends string> = Items<Answer<"GET", P>>;
  type Items<A> = 0 extends 1 & A ? any : A extends { items: (infer I)[] } ? I : never;
}

declare namespace Page {
  type Api = import("page/lib/api.js").Api;

  /** What each page is given. */
  type Context = {
    api: Api; who: Rest.Answer<"GET", "/keys/current">; isOwner: boolean; params: Record<string, string>; query: URLSearchParams;
    agentName: (id: string) => string; readAgents: () => Promise<Rest.AgentView[]>; go: (path: string) => Promise<void>;
    signal: AbortSignal; chat: any; approvals: any;
  };

  /** Some of it, and what one page gives to its parts. */
  type Part = Pick<Context, "api"> & { path: Agent; [more: string]: any };

  /** The path of an agent, before what is asked of it. */
  type Agent = `/agents/${string}`;
}
