// Shown while the workspace has no runs: what this is, in one picture, and where to begin.
import { agents, mayAct } from '../state.ts';
import { CopyButton } from '../ui/parts.tsx';

const demo = 'npx cloister demo';

export const FirstVisit = () => {
  const first = mayAct.value ? agents.value[0] : undefined;
  return (
    <div class="first-visit first-picture">
      <RoomsPicture />
      <h1>Every agent in a room of its own</h1>
      <p class="muted">
        Nothing passes between rooms unless a grant allows it, and everything that passes is written down. There are no
        runs in this workspace yet.
      </p>
      {first === undefined ? (
        <p>Looking only.</p>
      ) : (
        <a class="button primary" href={`#/chat?agent=${encodeURIComponent(first.name)}`}>
          Chat with {first.name}
        </a>
      )}
      <p class="muted small">
        The demo needs no key and costs nothing: a lead and three researchers on a scripted model, about three seconds.
      </p>
      <p class="terminal">
        <span class="muted">in a terminal</span> <code>{demo}</code> <span class="header-space" />
        <CopyButton text={() => demo} />
      </p>
    </div>
  );
};

const rooms = [
  [2, 2, 556],
  [94, 94, 346],
  [94, 174, 392],
] as const;

const doors = [
  [38, 52, 16, 6],
  [62, 52, 16, 6],
  [462, 52, 16, 6],
  [492, 52, 16, 6],
  [91, 113, 6, 16],
  [91, 193, 6, 16],
  [437, 113, 6, 16],
  [483, 193, 6, 16],
] as const;

/** Two helpers: a goal goes in by the left wall, a result comes out by the right. */
const RoomsPicture = () => (
  <svg
    class="rooms-picture"
    viewBox="0 0 560 232"
    role="img"
    aria-label="Three rooms with walls: goals go in, results come out."
  >
    {rooms.map(([x, y, width]) => (
      <rect key={y} class="mail-piece" x={x} y={y} width={width} height="54" rx="3" />
    ))}
    {doors.map(([x, y, width, height]) => (
      <rect key={`${x} ${y}`} class="door" x={x} y={y} width={width} height={height} />
    ))}
    <g class="mail-svg-goal">
      <path d="M46 44V201H100M70 44V121H100" />
      <circle cx="46" cy="44" r="3.5" />
      <circle cx="70" cy="44" r="3.5" />
      <path class="head" d="M108 121l-9 -5v10zM108 201l-9 -5v10z" />
      <text x="106" y="86">
        a goal goes in
      </text>
    </g>
    <g class="mail-svg-result">
      <path d="M428 121H470V50M474 201H500V50" />
      <circle cx="428" cy="121" r="3.5" />
      <circle cx="474" cy="201" r="3.5" />
      <path class="head" d="M470 42l-5 9h10zM500 42l-5 9h10z" />
      <text x="438" y="86" text-anchor="end">
        a result comes out
      </text>
    </g>
    <text x="20" y="34">
      Your agent
    </text>
    <text x="118" y="126">
      A helper
    </text>
    <text x="118" y="206">
      Another helper
    </text>
  </svg>
);
