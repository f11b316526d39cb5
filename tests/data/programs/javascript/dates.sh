cat > a.js <<'JS'
const d = new Date(Date.UTC(2024, 1, 29, 13, 5, 9, 7));
console.log(d, d.toISOString(), d.toJSON(), d.getTime(), [d], { d });
console.log(d.toString(), d.toDateString(), d.toUTCString(), d.getTimezoneOffset());
console.log(d.toLocaleDateString(), d.toLocaleTimeString(), d.toLocaleString(), d.toLocaleDateString('en-US', { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }));
console.log(d.toLocaleDateString('en-US', { month: 'short', day: 'numeric' }), d.toLocaleTimeString('en-US', { hour: '2-digit', minute: '2-digit' }), d.toLocaleTimeString('en-US', { hour12: false }));
console.log(new Date('2024-03-10'), new Date('2024-03-10T10:00:00+02:00'), new Date('Mar 5, 2024 10:00'), new Date('x'), String(new Date(NaN)));
console.log(new Date(2024, 0, 31).getDay(), new Date('2024-12-25') - new Date('2024-12-20'), Date.parse('2024-01-01'));
const e = new Date(d); e.setUTCDate(e.getUTCDate() + 1); console.log(e.toISOString().slice(0, 10));
console.log(new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }).format(d), (1234567.891).toLocaleString(), (0.256).toLocaleString('en-US', { style: 'percent' }), (1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD' }), (5).toLocaleString('en-US', { minimumFractionDigits: 2 }), new Intl.NumberFormat().format(-1e6));
try { new Date(NaN).toISOString(); } catch (e) { console.log(e.name, e.message); }
JS
TZ=UTC node a.js
