import CLibPQ
import Foundation

/// libpq alone.
final class Plain {
  private let handle: OpaquePointer

  init(_ components: URLComponents) {
    var text = ""
    for item in components.queryItems ?? [] { text += "\(item.name)='\(item.value ?? "")' " }
    text += "dbname='\(components.path.drop { $0 == "/" })'"
    guard let handle = PQconnectdb(text), PQstatus(handle) == CONNECTION_OK else {
      print("The server takes no connection.")
      exit(69)
    }
    self.handle = handle
  }

  deinit { PQfinish(handle) }

  /// Prepares a statement, whose parameters are texts.
  func prepare(_ name: String, _ text: String) {
    let result = PQprepare(handle, name, text, 0, nil)
    require(PQresultStatus(result) == PGRES_COMMAND_OK)
    PQclear(result)
  }

  /// Runs prepared statements one after the other, in one round trip.
  func runTogether(_ statements: [(name: String, values: [String?])]) {
    require(PQenterPipelineMode(handle) == 1)
    for (name, values) in statements {
      let texts = values.map { $0.flatMap { strdup($0) } }
      let isSent = texts.map { UnsafePointer($0) }.withUnsafeBufferPointer {
        PQsendQueryPrepared(handle, name, Int32($0.count), $0.baseAddress, nil, nil, 1)
      }
      texts.forEach { free($0) }
      require(isSent == 1)
    }
    require(PQpipelineSync(handle) == 1)
    while true {
      guard let result = PQgetResult(handle) else { continue }
      let status = PQresultStatus(result)
      PQclear(result)
      if status == PGRES_PIPELINE_SYNC { break }
      require(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
    }
    require(PQexitPipelineMode(handle) == 1)
  }

  private func require(_ isRight: Bool) {
    if isRight { return }
    print(String(cString: PQerrorMessage(handle)))
    exit(70)
  }

  func run(_ text: String) {
    let result = PQexec(handle, text)
    let status = PQresultStatus(result)
    if status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK {
      print(String(cString: PQerrorMessage(handle)))
      exit(70)
    }
    PQclear(result)
  }

  /// Binary rows into a list of plain structs.
  func read(_ text: String) {
    struct Row {
      var numbers = (Int64(0), Int64(0))
      var texts: (start: Int, count: Int) = (0, 0)
    }
    let result = PQexecParams(handle, text, 0, nil, nil, nil, nil, 1)
    guard PQresultStatus(result) == PGRES_TUPLES_OK else {
      print(String(cString: PQerrorMessage(handle)))
      exit(70)
    }
    let (rows, columns) = (PQntuples(result), PQnfields(result))
    var list: [Row] = []
    var bytes: [UInt8] = []
    list.reserveCapacity(Int(rows))
    for row in 0..<rows {
      var value = Row()
      value.texts.start = bytes.count
      for column in 0..<columns where PQgetisnull(result, row, column) == 0 {
        let length = Int(PQgetlength(result, row, column))
        let buffer = UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: length)
        if length == 8 {
          value.numbers.0 &+= Int64(bigEndian: buffer.loadUnaligned(as: Int64.self))
        } else {
          bytes.append(contentsOf: buffer)
        }
      }
      value.texts.count = bytes.count - value.texts.start
      list.append(value)
    }
    PQclear(result)
  }

  /// Rows by binary COPY, with keys behind `start`.
  func copy(_ count: Int, into table: String, after start: Int) {
    var bytes: [UInt8] = Array("PGCOPY\n".utf8) + [255, 13, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    func add<Word: FixedWidthInteger>(_ word: Word) {
      withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
    }
    func field<Word: FixedWidthInteger>(_ word: Word) {
      add(Int32(MemoryLayout<Word>.size))
      add(word)
    }
    func field(_ text: String) {
      add(Int32(text.utf8.count))
      bytes.append(contentsOf: text.utf8)
    }
    for number in 0..<count {
      add(Int16(11))
      field(Int64(start + number + 1))
      field(Int16(1))
      field(Int32(1))
      add(Int32(-1))
      field(Int64(number))
      field(Int32(number % 1_000))
      field((Double(number) / 3).bitPattern)
      field("text number \(number)")
      field("another text")
      field(UInt8(number % 2))
      field(Double(number).bitPattern)
    }
    add(Int16(-1))
    PQclear(PQexec(handle, "COPY \(table) FROM STDIN (FORMAT binary)"))
    let isSent = bytes.withUnsafeBytes {
      PQputCopyData(handle, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
    }
    guard isSent == 1, PQputCopyEnd(handle, nil) == 1 else { exit(70) }
    while let result = PQgetResult(handle) {
      if PQresultStatus(result) != PGRES_COMMAND_OK { print(String(cString: PQerrorMessage(handle))) }
      PQclear(result)
    }
  }
}
