// Shown while no run is selected: what this is, and where to begin.
import { agents, mayAct } from '../state.ts';

export const Welcome = () => (
  <div class="first-visit">
    <h1>Every agent in a room of its own</h1>
    <p>Nothing passes between rooms unless a grant allows it, and everything that passes is written down.</p>
    {mayAct.value && agents.value.length > 0 ? (
      <p>Ask {agents.value[0]!.name} something, or open one of the runs.</p>
    ) : (
      <p>Looking only. Give studio an agent file to chat with it.</p>
    )}
    <a class="button" href="#/runs">
      Open runs
    </a>
  </div>
);
