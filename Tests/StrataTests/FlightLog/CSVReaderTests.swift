import Foundation
import Testing

@testable import FlightLog

/// The CSV reader against files with everything that goes wrong in files.
struct CSVReaderTests {
  /// What a reader makes of `text`: fields by record, and damaged lines, each with its line number.
  private func read(_ text: String, name: String = "t.csv") throws -> (
    records: [(Int, [String])], damages: [Int: String]
  ) {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    var reader = try CSVReader(folder.write(text, to: name))
    var records: [(Int, [String])] = []
    var damages: [Int: String] = [:]
    while let element = try reader.next() {
      switch element {
      case .record(let record):
        records.append(
          (record.line, (0..<record.fieldCount).map { String(decoding: record[$0], as: UTF8.self) }))
      case .damage(let damage):
        damages[damage.line] = damage.reason
      }
    }
    return (records, damages)
  }

  @Test func readsFieldsAndLineNumbers() throws {
    let (records, damages) = try read("a,b\n1,2\n\n,\n3,4")
    #expect(records.map(\.0) == [2, 4, 5])
    #expect(records.map(\.1) == [["1", "2"], ["", ""], ["3", "4"]])
    #expect(damages.isEmpty)
  }

  @Test func quotedFieldsHoldCommasQuotesAndLineEnds() throws {
    let (records, damages) = try read("a,b\n\"x,y\",\"say \"\"hi\"\"\"\n\"two\nlines\",\"\"\nlast,1\n")
    #expect(records.map(\.1) == [["x,y", "say \"hi\""], ["two\nlines", ""], ["last", "1"]])
    #expect(records.map(\.0) == [2, 3, 5])
    #expect(damages.isEmpty)
  }

  @Test func carriageReturnsAndByteOrderMarkAreNoContent() throws {
    let (records, _) = try read("\u{FEFF}a,b\r\n1,2\r\n\"3\",\"4\"\r\n5,6\r")
    #expect(records.map(\.1) == [["1", "2"], ["3", "4"], ["5", "6"]])
  }

  @Test func aWrongNumberOfFieldsDamagesOnlyThatLine() throws {
    let (records, damages) = try read("a,b\n1\n2,3\n4,5,6\n7,8\n")
    #expect(records.map(\.1) == [["2", "3"], ["7", "8"]])
    #expect(damages == [2: "it has 1 field instead of 2", 4: "it has 3 fields instead of 2"])
  }

  @Test func anUnclosedQuoteDamagesOnlyItsFirstLine() throws {
    let (records, damages) = try read("a,b\n\"open,2\n3,4\n5,6\n")
    #expect(records.map(\.1) == [["3", "4"], ["5", "6"]])
    #expect(damages == [2: "a quote is not closed"])
  }

  @Test func aQuoteClosedLinesLaterByAccidentDamagesOnlyTheTwoLinesWithQuotes() throws {
    let (records, damages) = try read("a,b\n\"open,2\n3,4\n5,six\"\n7,8\n")
    #expect(records.map(\.1) == [["3", "4"], ["7", "8"]])
    #expect(Set(damages.keys) == [2, 4])
  }

  @Test func somethingAfterAClosingQuoteIsDamage() throws {
    let (records, damages) = try read("a,b\n\"1\"x,2\n3,4\n")
    #expect(records.map(\.1) == [["3", "4"]])
    #expect(damages == [2: "something follows the closing quote of a field"])
  }

  @Test(arguments: ["\"", ""])
  func aRecordWithoutEndIsSkippedInConstantMemory(quote: String) throws {
    let endless = String(repeating: "x", count: 3 * CSVReader.maximumRecordLength)
    let (records, damages) = try read("a,b\n1,2\n\(quote)\(endless)\n3,4\n")
    #expect(records.map(\.1) == [["1", "2"], ["3", "4"]])
    #expect(records.map(\.0) == [2, 4])
    #expect(Set(damages.keys) == [3])
  }

  /// Records across every boundary of the 64 KiB pieces in which a file is read.
  @Test func piecesOfTheFileDoNotShow() throws {
    let lines = (0..<40_000).map { $0 % 7 == 0 ? "\"\($0)\"\"\n\",x" : "\($0),y" }
    let (records, damages) = try read("a,b\n" + lines.joined(separator: "\n") + "\n")
    #expect(damages.isEmpty)
    #expect(records.count == lines.count)
    let expected = (0..<40_000).map { $0 % 7 == 0 ? ["\($0)\"\n", "x"] : ["\($0)", "y"] }
    #expect(records.map(\.1) == expected)
  }

  /// Random bytes of the alphabet that matters: never a trap, always to the end, each line accounted for at most once.
  @Test(arguments: 1...5)
  func randomBytesAreReadToTheEnd(seed: UInt64) throws {
    var state = seed
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    let alphabet = Array("\",\n\rab,\n")
    let text = "a,b\n" + String((0..<5_000).map { _ in alphabet[random(alphabet.count)] })
    let (records, damages) = try read(text)
    let lines = records.map(\.0) + damages.keys
    #expect(Set(lines).count == lines.count, "seed \(seed)")
    #expect(lines.allSatisfy { $0 >= 2 && $0 <= text.utf8.count(where: { $0 == 10 }) + 1 }, "seed \(seed)")
  }

  @Test func missingEmptyAndDamagedFilesAreOneSentence() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    #expect(throws: FlightLogError.self) { try CSVReader(folder.url.appendingPathComponent("none.csv")) }
    #expect(throws: FlightLogError.self) { try CSVReader(folder.url) }
    let empty = try folder.write("", to: "empty.csv")
    #expect(throws: FlightLogError.self) { try CSVReader(empty) }
    let foreign = try folder.write("this is not gzip", to: "foreign.csv.gz")
    let error = #expect(throws: FlightLogError.self) { try CSVReader(foreign) }
    #expect(error?.description.contains("cannot be unpacked") == true)
  }

  @Test func aCutCompressedFileIsFoundOut() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let whole = try Data(contentsOf: DataFolder.fixture.appendingPathComponent("flights.csv.gz"))
    let file = folder.url.appendingPathComponent("flights.csv.gz")
    try whole.prefix(whole.count / 2).write(to: file)
    var reader = try CSVReader(file)
    var count = 0
    let error = #expect(throws: FlightLogError.self) {
      while try reader.next() != nil { count += 1 }
    }
    #expect(count > 1_000)
    #expect(error?.description.contains("cannot be unpacked") == true)
  }

  /// On a thread of the dispatch library, which blocks the signals that usually end a child.
  /// The limit ends a hang; on a busy machine the thread may come late.
  @Test(.timeLimit(.minutes(20)))
  func aCompressedFileDroppedHalfwayEndsItsChild() async throws {
    let file = DataFolder.fixture.appendingPathComponent("flights.csv.gz")
    let byteCount = try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(
          with: Result {
            var bytes: [UInt8] = []
            let stream = try ByteStream(file)
            _ = try stream.read(upTo: 4_096, into: &bytes)
            return bytes.count
          })
      }
    }
    #expect(byteCount > 0)
  }
}
