import CLMDBShim
import Foundation

/// The floor: the same changes by hand on LMDB itself, each in one durable transaction. Rows and index entries have as many bytes as Strata's; there are no
/// versions, no checksums, no history, no other process to be told.
///
/// ```
///   row       78 bytes of header, numbers and places of texts, then the texts       key: position + 1, 8 bytes
///   location  tag, the text, end · key of the row        18 bytes
///   departure tag, 8 bytes that order as the dates · key of the row        17 bytes
/// ```
final class HandPackedBatches: BatchPeer {
  private let environment: OpaquePointer
  private var rows: MDB_dbi = 0
  private var byLocation: MDB_dbi = 0
  private var byDeparture: MDB_dbi = 0

  init(_ folder: URL) throws {
    var handle: OpaquePointer?
    try check(mdb_env_create(&handle), "mdb_env_create")
    guard let handle else { throw BenchmarkError("mdb_env_create gave no environment") }
    environment = handle
    try check(mdb_env_set_maxdbs(environment, 3), "mdb_env_set_maxdbs")
    try check(mdb_env_set_mapsize(environment, 16 << 30), "mdb_env_set_mapsize")
    let path = folder.appendingPathComponent("batches.lmdb").path
    try check(mdb_env_open(environment, path, UInt32(MDB_NOSUBDIR | MDB_NOTLS), 0o600), "mdb_env_open")
    try write { transaction in
      try check(mdb_dbi_open(transaction, "rows", UInt32(MDB_CREATE), &rows), "mdb_dbi_open")
      try check(mdb_dbi_open(transaction, "byLocation", UInt32(MDB_CREATE), &byLocation), "mdb_dbi_open")
      try check(mdb_dbi_open(transaction, "byDeparture", UInt32(MDB_CREATE), &byDeparture), "mdb_dbi_open")
    }
  }

  func run(_ job: BatchJob, _ flights: [Flight]) throws -> Int {
    try write { transaction in
      switch job {
      case .insert: try insert(flights, transaction)
      case .update: try update(transaction)
      case .compute: try compute(transaction)
      case .delete: try delete(transaction)
      }
    }
  }

  func count() throws -> Int {
    try write { transaction in
      var counts: [Int] = []
      for keyspace in [rows, byLocation, byDeparture] {
        var statistics = MDB_stat()
        try check(mdb_stat(transaction, keyspace, &statistics), "mdb_stat")
        counts.append(statistics.ms_entries)
      }
      guard counts.allSatisfy({ $0 == counts[0] }) else {
        throw BenchmarkError("entries are missing: \(counts)")
      }
      return counts[0]
    }
  }

  func close() { mdb_env_close(environment) }

  // MARK: Jobs

  private func insert(_ flights: [Flight], _ transaction: OpaquePointer) throws -> Int {
    var locations: [IndexEntry] = []
    var departures: [IndexEntry] = []
    locations.reserveCapacity(flights.count)
    departures.reserveCapacity(flights.count)
    for (position, flight) in flights.enumerated() {
      let key = UInt64(position) + 1
      var bigEndian = key.bigEndian
      try withUnsafeMutableBytes(of: &bigEndian) { bytes in
        var mdbKey = MDB_val(mv_size: 8, mv_data: bytes.baseAddress)
        var value = MDB_val(mv_size: flight.rowLength, mv_data: nil)
        try check(mdb_put(transaction, rows, &mdbKey, &value, UInt32(MDB_APPEND | MDB_RESERVE)), "mdb_put")
        flight.pack(into: value.mv_data)
      }
      locations.append(IndexEntry(value: prefix(of: flight.location), key: key))
      departures.append(IndexEntry(value: ordered(flight.departure), key: key))
    }
    sort(&locations)
    sort(&departures)
    try put(locations, Self.locationKey, byLocation, transaction, UInt32(MDB_APPEND))
    try put(departures, Self.departureKey, byDeparture, transaction, UInt32(MDB_APPEND))
    return flights.count
  }

  /// The new row has the length of the old one: it takes its place.
  private func update(_ transaction: OpaquePointer) throws -> Int {
    try forEachTenth(transaction) { cursor, key, value in
      try replace(cursor, key, value) { row in
        row.storeBytes(of: 1.5, toByteOffset: RowPlaces.delay, as: Double.self)
        let carrier = RowPlaces.text(0, UnsafeRawBufferPointer(row))
        guard carrier.count == 2 else { throw BenchmarkError("a carrier is no two letters") }
        row.storeBytes(of: UInt16(0x5858), toByteOffset: carrier.lowerBound, as: UInt16.self)
      }
    }
  }

  private func compute(_ transaction: OpaquePointer) throws -> Int {
    var old: [IndexEntry] = []
    var new: [IndexEntry] = []
    let count = try forEachTenth(transaction) { cursor, key, value in
      try replace(cursor, key, value) { row in
        let place = RowPlaces.text(2, UnsafeRawBufferPointer(row))
        let text = String(decoding: row[place], as: UTF8.self)
        let lower = text.lowercased()
        row[place].copyBytes(from: lower.utf8)
        old.append(IndexEntry(value: prefix(of: text), key: Self.number(key)))
        new.append(IndexEntry(value: prefix(of: lower), key: Self.number(key)))
      }
    }
    sort(&old)
    sort(&new)
    try remove(old, Self.locationKey, byLocation, transaction)
    try put(new, Self.locationKey, byLocation, transaction, 0)
    return count
  }

  private func delete(_ transaction: OpaquePointer) throws -> Int {
    var locations: [IndexEntry] = []
    var departures: [IndexEntry] = []
    let count = try forEachTenth(transaction) { cursor, key, value in
      let row = UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
      let location = String(decoding: row[RowPlaces.text(2, row)], as: UTF8.self)
      let seconds = row.loadUnaligned(fromByteOffset: RowPlaces.departure, as: Double.self)
      locations.append(IndexEntry(value: prefix(of: location), key: Self.number(key)))
      departures.append(
        IndexEntry(value: ordered(Date(timeIntervalSinceReferenceDate: seconds)), key: Self.number(key)))
      try check(mdb_cursor_del(cursor, 0), "mdb_cursor_del")
    }
    sort(&locations)
    sort(&departures)
    try remove(locations, Self.locationKey, byLocation, transaction)
    try remove(departures, Self.departureKey, byDeparture, transaction)
    return count
  }

  // MARK: Steps

  /// Calls `body` with every row whose number ends in 0; how many there are.
  private func forEachTenth(
    _ transaction: OpaquePointer, _ body: (OpaquePointer, MDB_val, MDB_val) throws -> Void
  ) throws -> Int {
    var count = 0
    try withCursor(rows, transaction) { cursor in
      var (key, value) = (MDB_val(), MDB_val())
      var status = mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
      while status == MDB_SUCCESS {
        let row = UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
        if row.loadUnaligned(fromByteOffset: RowPlaces.number, as: Int64.self) % 10 == 0 {
          try body(cursor, key, value)
          count += 1
        }
        status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
      }
      if status != MDB_NOTFOUND { try check(status, "mdb_cursor_get") }
    }
    return count
  }

  private func replace(
    _ cursor: OpaquePointer, _ key: MDB_val, _ value: MDB_val,
    _ change: (UnsafeMutableRawBufferPointer) throws -> Void
  ) throws {
    try withUnsafeTemporaryAllocation(byteCount: value.mv_size, alignment: 8) { row in
      row.copyMemory(from: UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
      try change(row)
      var (key, new) = (key, MDB_val(mv_size: row.count, mv_data: row.baseAddress))
      try check(mdb_cursor_put(cursor, &key, &new, UInt32(MDB_CURRENT)), "mdb_cursor_put")
    }
  }

  private func sort(_ entries: inout [IndexEntry]) {
    entries.sort { ($0.value, $0.key) < ($1.value, $1.key) }
  }

  private static func number(_ key: MDB_val) -> UInt64 {
    UInt64(bigEndian: UnsafeRawBufferPointer(start: key.mv_data, count: 8).loadUnaligned(as: UInt64.self))
  }

  /// Tag, seven bytes of text, two that end it, the row's key.
  private static func locationKey(_ entry: IndexEntry, _ bytes: UnsafeMutableRawBufferPointer) -> Int {
    bytes[0] = 0x10
    bytes.storeBytes(of: entry.value.bigEndian, toByteOffset: 1, as: UInt64.self)
    bytes[8] = 0
    bytes[9] = 1
    bytes.storeBytes(of: entry.key.bigEndian, toByteOffset: 10, as: UInt64.self)
    return 18
  }

  private static func departureKey(_ entry: IndexEntry, _ bytes: UnsafeMutableRawBufferPointer) -> Int {
    bytes[0] = 0x10
    bytes.storeBytes(of: entry.value.bigEndian, toByteOffset: 1, as: UInt64.self)
    bytes.storeBytes(of: entry.key.bigEndian, toByteOffset: 9, as: UInt64.self)
    return 17
  }

  private typealias KeyMaker = (IndexEntry, UnsafeMutableRawBufferPointer) -> Int

  private func put(
    _ entries: [IndexEntry], _ makeKey: KeyMaker, _ index: MDB_dbi, _ transaction: OpaquePointer,
    _ flags: UInt32
  ) throws {
    try withCursor(index, transaction) { cursor in
      try withUnsafeTemporaryAllocation(byteCount: 24, alignment: 8) { bytes in
        for entry in entries {
          var (key, empty) = (MDB_val(mv_size: makeKey(entry, bytes), mv_data: bytes.baseAddress), MDB_val())
          try check(mdb_cursor_put(cursor, &key, &empty, flags), "mdb_cursor_put")
        }
      }
    }
  }

  private func remove(
    _ entries: [IndexEntry], _ makeKey: KeyMaker, _ index: MDB_dbi, _ transaction: OpaquePointer
  ) throws {
    try withCursor(index, transaction) { cursor in
      try withUnsafeTemporaryAllocation(byteCount: 24, alignment: 8) { bytes in
        for entry in entries {
          var (key, value) = (MDB_val(mv_size: makeKey(entry, bytes), mv_data: bytes.baseAddress), MDB_val())
          try check(mdb_cursor_get(cursor, &key, &value, MDB_SET_KEY), "mdb_cursor_get")
          try check(mdb_cursor_del(cursor, 0), "mdb_cursor_del")
        }
      }
    }
  }

  private func withCursor(
    _ keyspace: MDB_dbi, _ transaction: OpaquePointer, _ body: (OpaquePointer) throws -> Void
  ) throws {
    var cursor: OpaquePointer?
    try check(mdb_cursor_open(transaction, keyspace, &cursor), "mdb_cursor_open")
    guard let cursor else { throw BenchmarkError("mdb_cursor_open gave no cursor") }
    defer { mdb_cursor_close(cursor) }
    try body(cursor)
  }

  private func write<R>(_ body: (OpaquePointer) throws -> R) throws -> R {
    var transaction: OpaquePointer?
    try check(mdb_txn_begin(environment, nil, 0, &transaction), "mdb_txn_begin")
    guard let transaction else { throw BenchmarkError("mdb_txn_begin gave no transaction") }
    let result: R
    do {
      result = try body(transaction)
    } catch {
      mdb_txn_abort(transaction)
      throw error
    }
    try check(mdb_txn_commit(transaction), "mdb_txn_commit")
    return result
  }
}

/// Where values lie in a row.
private enum RowPlaces {
  static let number = 18
  static let delay = 34
  static let departure = 50
  private static let texts = 58
  static let end = 78

  /// The place of the text with this number among the five.
  static func text(_ number: Int, _ row: UnsafeRawBufferPointer) -> Range<Int> {
    let start = Int(row.loadUnaligned(fromByteOffset: texts + 4 * number, as: UInt16.self))
    let count = Int(row.loadUnaligned(fromByteOffset: texts + 4 * number + 2, as: UInt16.self))
    return start..<start + count
  }

  static func setText(_ number: Int, _ start: Int, _ count: Int, _ row: UnsafeMutableRawPointer) {
    row.storeBytes(of: UInt16(start), toByteOffset: texts + 4 * number, as: UInt16.self)
    row.storeBytes(of: UInt16(count), toByteOffset: texts + 4 * number + 2, as: UInt16.self)
  }
}

extension Flight {
  fileprivate var rowLength: Int {
    RowPlaces.end + carrier.utf8.count + tail.utf8.count + location.utf8.count + destination.utf8.count
      + remark.utf8.count
  }

  fileprivate func pack(into row: UnsafeMutableRawPointer) {
    row.initializeMemory(as: UInt8.self, repeating: 0, count: RowPlaces.number)
    row.storeBytes(of: number, toByteOffset: RowPlaces.number, as: Int64.self)
    row.storeBytes(of: distance, toByteOffset: 26, as: Int64.self)
    row.storeBytes(of: delay, toByteOffset: RowPlaces.delay, as: Double.self)
    row.storeBytes(of: airTime, toByteOffset: 42, as: Double.self)
    row.storeBytes(
      of: departure.timeIntervalSinceReferenceDate, toByteOffset: RowPlaces.departure, as: Double.self)
    var offset = RowPlaces.end
    func store(_ text: String, _ number: Int) {
      var text = text
      text.withUTF8 { bytes in
        if let start = bytes.baseAddress { (row + offset).copyMemory(from: start, byteCount: bytes.count) }
        RowPlaces.setText(number, offset, bytes.count, row)
        offset += bytes.count
      }
    }
    store(carrier, 0)
    store(tail, 1)
    store(location, 2)
    store(destination, 3)
    store(remark, 4)
  }
}
