export function SimulatorView() { return <p>SimulatorView</p>; }
