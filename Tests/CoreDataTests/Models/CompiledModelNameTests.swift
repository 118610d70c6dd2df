import CoreData
import Foundation
import Testing

@Suite("Compiled models, asked for by name")
struct CompiledModelNameTests {
  private let bundle: Bundle
  private let place: URL

  init() throws {
    place = try Journal.makeFolder().appendingPathComponent("Shop.bundle")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    // Before there is a bundle, which lists its files once.
    try Data("x".utf8).write(to: place.appendingPathComponent("Notes.txt"))
    bundle = try #require(Bundle(url: place))
    for (version, entity) in [("Shop", "Sale"), ("Shop 2", "Purchase")] {
      try write("Shop.xcdatamodeld/\(version).xcdatamodel", entity)
    }
    try write("Plain.xcdatamodel", "Thing")
  }

  private func write(_ name: String, _ entity: String) throws {
    let url = place.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let text = #"<model type="com.apple.IDECoreDataModeler.DataModel"><entity name="\#(entity)"/></model>"#
    try Data(text.utf8).write(to: url.appendingPathComponent("contents"))
  }

  private func entities(_ url: URL?) -> [String]? {
    url.flatMap { NSManagedObjectModel(contentsOf: $0) }?.entities.compactMap(\.name)
  }

  @Test("A version in a momd is the source of that version")
  func versions() {
    let compiled = place.appendingPathComponent("Shop.momd")
    #expect(entities(compiled.appendingPathComponent("Shop.mom")) == ["Sale"])
    #expect(entities(compiled.appendingPathComponent("Shop 2.mom")) == ["Purchase"])
    #expect(entities(compiled.appendingPathComponent("Shop 2.omo")) == ["Purchase"])
    #expect(entities(compiled.appendingPathComponent("Shop 3.mom")) == nil)
    #expect(entities(place.appendingPathComponent("Plain.mom")) == ["Thing"])
    // What a look-up has found is gone on from.
    let found = place.appendingPathComponent("Shop.xcdatamodeld")
    #expect(entities(found.appendingPathComponent("Shop 2.mom")) == ["Purchase"])
    // A compiled folder that lies there is not read; the source beside it is.
    try? FileManager.default.createDirectory(at: compiled, withIntermediateDirectories: true)
    #expect(entities(compiled.appendingPathComponent("Shop 2.mom")) == ["Purchase"])
  }

  @Test("A bundle's look-up of a momd or mom finds the source; other resources are Foundation's")
  func lookUp() throws {
    #expect(bundle.url(forResource: "Shop", withExtension: "momd")?.lastPathComponent == "Shop.xcdatamodeld")
    #expect(bundle.path(forResource: "Shop", ofType: "momd")?.hasSuffix("Shop.xcdatamodeld") == true)
    #expect(entities(bundle.url(forResource: "Plain", withExtension: "mom")) == ["Thing"])
    #expect(bundle.url(forResource: "Shop 9", withExtension: "momd") == nil)
    #expect(
      entities(bundle.url(forResource: "Shop 2", withExtension: "mom", subdirectory: "Shop.momd"))
        == ["Purchase"])

    let models = try #require(bundle.urls(forResourcesWithExtension: "momd", subdirectory: nil))
    #expect(models.map { $0.deletingPathExtension().lastPathComponent } == ["Shop"])
    let versions = try #require(bundle.urls(forResourcesWithExtension: "mom", subdirectory: "Shop.momd"))
    #expect(versions.map { $0.deletingPathExtension().lastPathComponent } == ["Shop 2", "Shop"])
    #expect(bundle.paths(forResourcesOfType: "mom", inDirectory: "Shop.momd").count == 2)
    #expect(bundle.urls(forResourcesWithExtension: "momd", subdirectory: "Nowhere") == nil)
    #expect(bundle.paths(forResourcesOfType: "momd", inDirectory: "Nowhere").isEmpty)

    #expect(bundle.url(forResource: "Notes", withExtension: "txt")?.lastPathComponent == "Notes.txt")
    #expect(bundle.url(forResource: "Other", withExtension: "txt") == nil)
    #expect(bundle.path(forResource: "Notes", ofType: "txt") != nil)
    let name: String? = "Notes"
    #expect(bundle.url(forResource: name, withExtension: "txt") != nil)
  }
}
