import Foundation
import StrataModels
import Testing
import TortureKit

/// Checks what it is made of, as programs do: no sample passes.
struct SerialNumber: RawRepresentable, Hashable, Sendable {
  let rawValue: String
  init?(rawValue: String) {
    guard rawValue.hasPrefix("serial-"), rawValue.count == 12 else { return nil }
    self.rawValue = rawValue
  }
}

struct Marks: OptionSet, Hashable, Sendable {
  let rawValue: Int
  static let old = Marks(rawValue: 1)
  static let torn = Marks(rawValue: 2)
}

enum Cargo: Codable, Hashable, Sendable {
  case boxes(Int, labels: [String])
  case empty
}

struct Strict: Codable, Hashable, Sendable {
  var length: Int

  init(length: Int) { self.length = length }
  init(from decoder: any Decoder) throws {
    length = try decoder.singleValueContainer().decode(Int.self)
    if length < 1 {
      throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "too short"))
    }
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(length)
  }
}

@Managed final class Parcel: ManagedObject {
  var number = 0
  @Unique var serial: SerialNumber
  var earlier: SerialNumber?
  var marks: Marks
  @Attribute(.optional) var cargo: Cargo
  @Attribute(.optional) var strict: Strict
  var tags: [String] = ["new"]
}

@Suite("Attributes of types of which no value comes by itself")
struct ProbedTypesTests {
  static func serial(_ number: Int) throws -> SerialNumber {
    try #require(SerialNumber(rawValue: "serial-\(10_000 + number)"))
  }

  private func parcels(cargo: Cargo = .empty, strict: Int? = 3) async throws -> PersistentContainer {
    let container = try await PersistentContainer(for: Parcel.self, at: .inMemory)
    let serials = try (0..<3).map { try Self.serial($0) }
    try await container.background { context in
      for number in 0..<3 {
        let parcel = Parcel(context: context)
        parcel.number = number
        parcel.serial = serials[2 - number]
        parcel.marks = number == 1 ? [.old, .torn] : []
        parcel.cargo = cargo
        if let strict { parcel.strict = Strict(length: strict) }
        parcel.tags = ["tag \(number)"]
      }
    }
    return container
  }

  @Test("Structs that check their raw value, and option sets, are compared, sorted by and fetched as values")
  func rawValues() async throws {
    let container = try await parcels()
    let one = try Self.serial(1)
    try await container.performBackgroundTask { context throws in
      #expect(try context.count(Parcel.self, where: #Predicate<Parcel> { $0.serial == one }) == 1)
      #expect(try context.count(Parcel.self, where: #Predicate<Parcel> { $0.earlier == nil }) == 3)
      #expect(try context.fetch(Parcel.self, sortedBy: \.serial).map(\.number) == [2, 1, 0])
      let serials = try context.fetch(Parcel.self, values: \.serial, sortedBy: \.serial)
      #expect(serials.map(\.rawValue) == ["serial-10000", "serial-10001", "serial-10002"])
      let both: Marks = [.old, .torn]
      #expect(
        try context.fetch(Parcel.self, where: #Predicate<Parcel> { $0.marks == both }).map(\.number) == [1])
      let marks: [Marks] = try context.fetch(Parcel.self, values: \.marks, sortedBy: \.number)
      #expect(marks == [[], both, []])
      let new = Parcel(context: context)
      #expect(new.marks == [])
      context.rollback()
    }
  }

  @Test("Values kept as JSON are refused in conditions and orders with an error, and fetched as values")
  func transformables() async throws {
    let container = try await parcels(cargo: .boxes(2, labels: ["a"]))
    let cargo = Cargo.empty
    try await container.performBackgroundTask { context throws in
      #expect(throws: PredicateTranslationError.self) {
        try context.count(Parcel.self, where: #Predicate<Parcel> { $0.cargo == cargo })
      }
      #expect(throws: PredicateTranslationError.self) { try context.fetch(Parcel.self, sortedBy: \.tags) }
      #expect(throws: PredicateTranslationError.self) {
        try context.fetch(Parcel.self, values: \.strict.length)
      }
      let cargos: [Cargo] = try context.fetch(Parcel.self, values: \.cargo)
      #expect(cargos == Array(repeating: .boxes(2, labels: ["a"]), count: 3))
      let tags = try context.fetch(Parcel.self, values: \.number, \.tags, sortedBy: \.number)
      #expect(tags.map(\.1) == [["tag 0"], ["tag 1"], ["tag 2"]])
      let stricts: [Strict] = try context.fetch(Parcel.self, values: \.strict)
      #expect(stricts.map(\.length) == [3, 3, 3])
    }
  }

  @Test(
    "A fetch of values throws, with the record and the property, where a value is missing and nothing stands for none"
  )
  func missing() async throws {
    let container = try await parcels(cargo: Cargo.boxes(1, labels: []), strict: nil)
    try await container.performBackgroundTask { context throws in
      let whole = #expect(throws: CoreDataError.self) { try context.fetch(Parcel.Value.self) }
      let text = "\(whole?.localizedDescription ?? "")"
      #expect(text.contains("Parcel.strict of p") && text.contains("Strict"), "\(text)")
      #expect(throws: CoreDataError.self) { try context.fetch(Parcel.self, values: \.strict) }
      let numbers: [Int] = try context.fetch(Parcel.self, values: \.number, sortedBy: \.number)
      #expect(numbers == [0, 1, 2])
      // Once there is a value, there are values.
      for parcel in try context.fetch(Parcel.self) { parcel.strict = Strict(length: 5) }
      #expect(try context.fetch(Parcel.Value.self).map(\.strict.length) == [5, 5, 5])
      try context.save()
      context.reset()
      #expect(try context.fetch(Parcel.Value.self).map(\.strict.length) == [5, 5, 5])
    }
  }
}
