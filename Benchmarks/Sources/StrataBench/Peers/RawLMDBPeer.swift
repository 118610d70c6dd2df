import CLMDBShim
import Foundation

/// What LMDB can do when nothing is in its way: rows packed by hand, keys of fixed width, two index keyspaces
/// whose entries are sorted first, everything appended, one commit with LMDB's default (fully synchronous) flags.
/// The floor below which no object layer on LMDB can go.
///
/// Row: number, distance, delay, air time, departure (8 bytes each), five lengths (2 bytes each), five strings.
/// Key of a row: its position + 1, big-endian. Key of an index entry: 8 bytes of value, then the row's key.
final class RawLMDBPeer: PeerStore {
  private let environment: OpaquePointer
  private(set) var rows: MDB_dbi = 0
  private(set) var byLocation: MDB_dbi = 0
  private(set) var byDeparture: MDB_dbi = 0
  private var keys: [UInt64] = []

  init(directory: URL) throws {
    var handle: OpaquePointer?
    try check(mdb_env_create(&handle), "mdb_env_create")
    guard let handle else { throw BenchmarkError("mdb_env_create gave no environment") }
    environment = handle
    try check(mdb_env_set_maxdbs(environment, 3), "mdb_env_set_maxdbs")
    try check(mdb_env_set_mapsize(environment, 16 << 30), "mdb_env_set_mapsize")
    let path = directory.appendingPathComponent("flights.lmdb").path
    try check(mdb_env_open(environment, path, UInt32(MDB_NOSUBDIR | MDB_NOTLS), 0o600), "mdb_env_open")
    let transaction = try begin(flags: 0)
    try check(mdb_dbi_open(transaction, "rows", UInt32(MDB_CREATE), &rows), "mdb_dbi_open")
    try check(mdb_dbi_open(transaction, "byLocation", UInt32(MDB_CREATE), &byLocation), "mdb_dbi_open")
    try check(mdb_dbi_open(transaction, "byDeparture", UInt32(MDB_CREATE), &byDeparture), "mdb_dbi_open")
    try check(mdb_txn_commit(transaction), "mdb_txn_commit")
  }

  func insert(_ flights: [Flight]) throws -> Outcome {
    var locations: [IndexEntry] = []
    var departures: [IndexEntry] = []
    locations.reserveCapacity(flights.count)
    departures.reserveCapacity(flights.count)
    let transaction = try begin(flags: 0)
    for (position, flight) in flights.enumerated() {
      let key = UInt64(position) + 1
      try append(flight, key: key, transaction)
      locations.append(IndexEntry(value: prefix(of: flight.location), key: key))
      departures.append(IndexEntry(value: ordered(flight.departure), key: key))
    }
    try append(&locations, to: byLocation, transaction)
    try append(&departures, to: byDeparture, transaction)
    try check(mdb_txn_commit(transaction), "mdb_txn_commit")
    return Outcome(touch: Touch(rows: flights.count))
  }

  func fetchAll() throws -> Outcome {
    let flights = try allFlights()
    var touch = Touch()
    for flight in flights { touch.add(flight) }
    return Outcome(touch: touch, results: flights)
  }

  func prepare(positions: [Int]) {
    keys = positions.map { UInt64($0) + 1 }
  }

  /// One short read transaction per row, renewed on a parked reader, as an object layer would do it.
  func fetchByID() throws -> Outcome {
    var flights: [Flight] = []
    flights.reserveCapacity(keys.count)
    let transaction = try begin(flags: UInt32(MDB_RDONLY))
    defer { mdb_txn_abort(transaction) }
    for key in keys {
      mdb_txn_reset(transaction)
      try check(mdb_txn_renew(transaction), "mdb_txn_renew")
      var bigEndian = key.bigEndian
      try withUnsafeMutableBytes(of: &bigEndian) { bytes in
        var mdbKey = MDB_val(mv_size: 8, mv_data: bytes.baseAddress)
        var value = MDB_val()
        try check(mdb_get(transaction, rows, &mdbKey, &value), "mdb_get")
        flights.append(Flight(packed: value))
      }
    }
    var touch = Touch()
    for flight in flights { touch.add(flight) }
    return Outcome(touch: touch, results: flights)
  }

  func contents() throws -> ContentChecksum {
    var checksum = ContentChecksum()
    for flight in try allFlights() { checksum.add(flight) }
    return checksum
  }

  func close() {
    mdb_env_close(environment)
  }

  private func allFlights() throws -> [Flight] {
    let transaction = try begin(flags: UInt32(MDB_RDONLY))
    defer { mdb_txn_abort(transaction) }
    var statistics = MDB_stat()
    try check(mdb_stat(transaction, rows, &statistics), "mdb_stat")
    var flights: [Flight] = []
    flights.reserveCapacity(statistics.ms_entries)
    var cursor: OpaquePointer?
    try check(mdb_cursor_open(transaction, rows, &cursor), "mdb_cursor_open")
    defer { mdb_cursor_close(cursor) }
    var key = MDB_val()
    var value = MDB_val()
    var status = mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
    while status == MDB_SUCCESS {
      flights.append(Flight(packed: value))
      status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
    }
    guard status == MDB_NOTFOUND else { throw BenchmarkError.lmdb(status, "mdb_cursor_get") }
    return flights
  }

  private func append(_ flight: Flight, key: UInt64, _ transaction: OpaquePointer) throws {
    var bigEndian = key.bigEndian
    try withUnsafeMutableBytes(of: &bigEndian) { bytes in
      var mdbKey = MDB_val(mv_size: 8, mv_data: bytes.baseAddress)
      var value = MDB_val(mv_size: flight.packedCount, mv_data: nil)
      try check(mdb_put(transaction, rows, &mdbKey, &value, UInt32(MDB_APPEND | MDB_RESERVE)), "mdb_put")
      flight.pack(into: value.mv_data)
    }
  }

  private func append(_ entries: inout [IndexEntry], to index: MDB_dbi, _ transaction: OpaquePointer) throws {
    entries.sort { ($0.value, $0.key) < ($1.value, $1.key) }
    for entry in entries {
      var bytes = (entry.value.bigEndian, entry.key.bigEndian)
      try withUnsafeMutableBytes(of: &bytes) { bytes in
        var key = MDB_val(mv_size: 16, mv_data: bytes.baseAddress)
        var empty = MDB_val()
        try check(mdb_put(transaction, index, &key, &empty, UInt32(MDB_APPEND)), "mdb_put")
      }
    }
  }

  func begin(flags: UInt32) throws -> OpaquePointer {
    var transaction: OpaquePointer?
    try check(mdb_txn_begin(environment, nil, flags, &transaction), "mdb_txn_begin")
    guard let transaction else { throw BenchmarkError("mdb_txn_begin gave no transaction") }
    return transaction
  }
}

extension Contender {
  static let rawLMDB = Contender(name: "raw LMDB, hand-packed", role: .floor, library: "lmdb") {
    try RawLMDBPeer(directory: $0)
  }
}

struct IndexEntry {
  var value: UInt64
  var key: UInt64
}

/// The first 8 bytes, which order as the text does: locations are ASCII and no longer.
func prefix(of text: String) -> UInt64 {
  var value: UInt64 = 0
  var shift: UInt64 = 64
  for byte in text.utf8.prefix(8) {
    shift -= 8
    value |= UInt64(byte) << shift
  }
  return value
}

/// The bit pattern turned so that it orders as the numbers do.
func ordered(_ date: Date) -> UInt64 {
  let bits = date.timeIntervalSinceReferenceDate.bitPattern
  return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
}

func check(_ status: Int32, _ operation: String) throws {
  guard status == MDB_SUCCESS else { throw BenchmarkError.lmdb(status, operation) }
}

extension BenchmarkError {
  fileprivate static func lmdb(_ status: Int32, _ operation: String) -> BenchmarkError {
    BenchmarkError("\(operation): \(String(cString: mdb_strerror(status)))")
  }
}

extension Flight {
  private static let stringsOffset = 50

  fileprivate var packedCount: Int {
    Self.stringsOffset + carrier.utf8.count + tail.utf8.count + location.utf8.count + destination.utf8.count
      + remark.utf8.count
  }

  fileprivate func pack(into row: UnsafeMutableRawPointer) {
    row.storeBytes(of: number, as: Int64.self)
    row.storeBytes(of: distance, toByteOffset: 8, as: Int64.self)
    row.storeBytes(of: delay, toByteOffset: 16, as: Double.self)
    row.storeBytes(of: airTime, toByteOffset: 24, as: Double.self)
    row.storeBytes(of: departure.timeIntervalSinceReferenceDate, toByteOffset: 32, as: Double.self)
    var offset = Self.stringsOffset
    func store(_ text: String, _ index: Int) {
      var text = text
      let count = text.withUTF8 { bytes in
        if let start = bytes.baseAddress { (row + offset).copyMemory(from: start, byteCount: bytes.count) }
        return bytes.count
      }
      row.storeBytes(of: UInt16(count), toByteOffset: 40 + 2 * index, as: UInt16.self)
      offset += count
    }
    store(carrier, 0)
    store(tail, 1)
    store(location, 2)
    store(destination, 3)
    store(remark, 4)
  }

  fileprivate init(packed value: MDB_val) {
    // A row has at least its fixed part, so its pointer is not nil.
    let row = UnsafeRawPointer(value.mv_data!)
    var offset = Self.stringsOffset
    func text(_ index: Int) -> String {
      let count = Int(row.loadUnaligned(fromByteOffset: 40 + 2 * index, as: UInt16.self))
      defer { offset += count }
      return String(decoding: UnsafeRawBufferPointer(start: row + offset, count: count), as: UTF8.self)
    }
    self.init(
      number: row.loadUnaligned(as: Int64.self),
      distance: row.loadUnaligned(fromByteOffset: 8, as: Int64.self),
      delay: row.loadUnaligned(fromByteOffset: 16, as: Double.self),
      airTime: row.loadUnaligned(fromByteOffset: 24, as: Double.self),
      departure: Date(
        timeIntervalSinceReferenceDate: row.loadUnaligned(fromByteOffset: 32, as: Double.self)),
      carrier: text(0), tail: text(1), location: text(2), destination: text(3), remark: text(4))
  }
}
