import SwiftData
import Testing

/// A model with a struct, before it changes.
enum CrateBefore {
  struct Size: Codable, Equatable {
    var width: Int
    var note: String?
  }
  @Model final class Crate {
    var name: String
    var size: Size
    var spare: Size?
    init(_ name: String, _ width: Int) {
      self.name = name
      size = Size(width: width)
    }
  }
}

/// The struct gets a property: its own initial value is not used when it is decoded.
enum CrateWithDepth {
  struct Size: Codable, Equatable {
    var width: Int
    var note: String?
    var depth = 7
  }
  @Model final class Crate {
    var name: String
    var size: Size
    var spare: Size?
    init(_ name: String) {
      self.name = name
      size = Size(width: 0)
    }
  }
}

/// A property of the struct that could be nil may not be.
enum CrateWithNote {
  struct Size: Codable, Equatable {
    var width: Int
    var note: String
  }
  @Model final class Crate {
    var name: String
    var size: Size
    var spare: Size?
    init(_ name: String) {
      self.name = name
      size = Size(width: 0, note: "")
    }
  }
}

/// The struct gets a struct.
enum CrateWithLock {
  struct Lock: Codable, Equatable {
    var code = 1
    var name: String?
  }
  struct Size: Codable, Equatable {
    var width: Int
    var note: String?
    var lock = Lock()
  }
  @Model final class Crate {
    var name: String
    var size: Size
    var spare: Size?
    init(_ name: String) {
      self.name = name
      size = Size(width: 0)
    }
  }
}

/// A struct is new.
enum CrateWithLid {
  struct Size: Codable, Equatable {
    var width: Int
    var note: String?
  }
  struct Lid: Codable, Equatable { var kind: String }
  @Model final class Crate {
    var name: String
    var size: Size
    var spare: Size?
    var lid: Lid
    init(_ name: String) {
      self.name = name
      size = Size(width: 0)
      lid = Lid(kind: "")
    }
  }
}

/// A struct that could be nil may not be.
enum CrateWithSpare {
  struct Size: Codable, Equatable {
    var width: Int
    var note: String?
  }
  @Model final class Crate {
    var name: String
    var size: Size
    var spare: Size
    init(_ name: String) {
      self.name = name
      size = Size(width: 0)
      spare = Size(width: 0)
    }
  }
}

/// What was a struct of elements is JSON.
enum CrateAsJSON {
  struct Size: Codable, Equatable {
    var width: Int
    var note: String?
  }
  @Model final class Crate {
    var name: String
    @Attribute(.codable) var size: Size
    var spare: Size?
    init(_ name: String) {
      self.name = name
      size = Size(width: 0)
    }
  }
}

/// Changes that rows can follow.
enum CrateMended {
  struct Size: Codable, Equatable {
    var width: Int
    var note: String?
    var depth = 7
    var height: Int?
  }
  struct Lid: Codable, Equatable { var kind: String }
  @Model final class Crate {
    var name: String
    var size = Size(width: 1, depth: 8)
    var spare: Size? = Size(width: 2, depth: 9)
    var lid: Lid?
    init(_ name: String) { self.name = name }
  }
}

@Suite("Structs that change")
struct StructVersionTests {
  private let folder: Folder
  private var configuration: ModelConfiguration { ModelConfiguration(url: folder.file()) }

  init() throws {
    folder = try Folder()
    let context = ModelContext(try ModelContainer(for: CrateBefore.Crate.self, configurations: configuration))
    let full = CrateBefore.Crate("full", 5)
    full.size.note = "wide"
    full.spare = CrateBefore.Size(width: 6)
    context.insert(full)
    context.insert(CrateBefore.Crate("bare", 4))
    try context.save()
  }

  /// Why a store of before cannot be opened; it is as it was.
  private func refusal(_ type: any PersistentModel.Type) throws -> String {
    let error = #expect(throws: SwiftDataError.self) {
      try ModelContainer(for: type, configurations: configuration)
    }
    #expect(error == .loadIssueModelContainer)
    let context = ModelContext(try ModelContainer(for: CrateBefore.Crate.self, configurations: configuration))
    let crates = try context.fetch(FetchDescriptor<CrateBefore.Crate>(sortBy: [SortDescriptor(\.name)]))
    #expect(crates.map(\.size.width) == [4, 5] && crates.map(\.spare?.width) == [nil, 6])
    return error?.reason ?? ""
  }

  @Test("M2: what rows would miss in a struct is said by the container, with property and element")
  func missingElements() throws {
    let new = "is new and mandatory, and has no default value"
    let mandatory = "becomes mandatory, and has no default value"
    let cases: [(any PersistentModel.Type, [String])] = [
      (CrateWithDepth.Crate.self, ["Crate.size.depth \(new)", "Crate.spare.depth \(new)"]),
      (CrateWithNote.Crate.self, ["Crate.size.note \(mandatory)", "Crate.spare.note \(mandatory)"]),
      (CrateWithLock.Crate.self, ["Crate.size.lock.code \(new)", "Crate.spare.lock.code \(new)"]),
      (CrateWithLid.Crate.self, ["Crate.lid.kind \(new)"]),
      (CrateAsJSON.Crate.self, ["Crate.size has another type"]),
    ]
    for (type, sentences) in cases {
      let reason = try refusal(type)
      for sentence in sentences { #expect(reason.contains(sentence), "\(type): \(reason)") }
    }
  }

  @Test("M2: a struct that could be nil may not become one that cannot, although the versions are the same")
  func becomesMandatory() throws {
    for _ in 0..<2 {
      let reason = try refusal(CrateWithSpare.Crate.self)
      #expect(reason.contains("Crate.spare becomes mandatory, and has no default value"), "\(reason)")
    }
  }

  @Test("M2: JSON does not become a struct of elements")
  func fromJSON() throws {
    let url = folder.file("JSON.store")
    do {
      let context = ModelContext(
        try ModelContainer(for: CrateAsJSON.Crate.self, configurations: ModelConfiguration(url: url)))
      context.insert(CrateAsJSON.Crate("a"))
      try context.save()
    }
    let error = #expect(throws: SwiftDataError.self) {
      try ModelContainer(for: CrateBefore.Crate.self, configurations: ModelConfiguration(url: url))
    }
    #expect(error?.reason.contains("Crate.size has another type") == true)
  }

  @Test("M1: with an initial value of the property rows follow, and a struct that is nil stays nil")
  func mended() throws {
    for isAgain in [false, true] {
      let context = ModelContext(
        try ModelContainer(for: CrateMended.Crate.self, configurations: configuration))
      let crates = try context.fetch(FetchDescriptor<CrateMended.Crate>(sortBy: [SortDescriptor(\.name)]))
      #expect(crates.map(\.size.width) == [4, 5] && crates.map(\.size.depth) == [8, 8])
      #expect(crates.map(\.size.note) == [nil, "wide"])
      #expect(crates.map(\.spare?.width) == [nil, 6] && crates.map(\.spare?.depth) == [nil, 9])
      #expect(crates.allSatisfy { $0.lid == nil })
      // Nothing keeps the rows from being saved.
      if !isAgain { for crate in crates { crate.name += "!" } }
      try context.save()
    }
  }
}
