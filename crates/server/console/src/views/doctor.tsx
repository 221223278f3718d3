export function DoctorView() { return <p>DoctorView</p>; }
