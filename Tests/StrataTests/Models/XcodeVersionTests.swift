import Foundation
import Testing

import Strata

/// Which file is read of those that a model is made of.
@Suite struct XcodeVersionTests {
  private let shop = repository.appendingPathComponent("Tests/StrataTests/Models/Shop.xcdatamodeld")

  private func description(_ entity: String) -> String { "<model><entity name=\"\(entity)\"/></model>" }

  private func sentences(_ url: URL) -> [String] {
    do {
      _ = try ManagedObjectModel(contentsOf: url)
      return []
    } catch { return (error as? ModelError)?.sentences ?? ["\(error)"] }
  }

  @Test func versionsComeInTheOrderOfTheirNumbersWithTheCurrentOneMarked() throws {
    let versions = try ManagedObjectModel.versions(of: shop)
    #expect(versions.map(\.name) == ["Shop", "Shop 2", "Shop 10"])
    #expect(versions.map(\.isCurrent) == [false, true, false])
    let identifiers = try versions.map { try ManagedObjectModel(contentsOf: $0.url).versionIdentifiers }
    #expect(identifiers == [[], ["Shop 2"], ["Shop 10"]])
  }

  @Test func aVersionFolderAndABareFileAreReadToo() throws {
    let folder = shop.appendingPathComponent("Shop 10.xcdatamodel")
    let file = folder.appendingPathComponent("contents")
    for url in [folder, file] {
      #expect(try ManagedObjectModel(contentsOf: url).entities.map(\.name) == ["Customer"])
      #expect(try ManagedObjectModel.versions(of: url).map(\.isCurrent) == [true])
    }
  }

  @Test func withoutAMarkTheLastVersionByNameIsRead() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    for (name, entity) in [("M", "One"), ("M 2", "Two"), ("M 10", "Ten"), (".M 11", "Hidden")] {
      try folder.write(description(entity), to: "M.xcdatamodeld/\(name).xcdatamodel/contents")
    }
    let url = folder.url.appendingPathComponent("M.xcdatamodeld")
    #expect(try ManagedObjectModel(contentsOf: url).entities.map(\.name) == ["Ten"])
  }

  @Test func aMarkThatLeadsNowhereIsAnError() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    try folder.write(description("A"), to: "M.xcdatamodeld/M.xcdatamodel/contents")
    let url = folder.url.appendingPathComponent("M.xcdatamodeld")
    for (mark, words) in [
      (
        "<plist><dict><key>_XCCurrentVersionName</key><string>N.xcdatamodel</string></dict></plist>",
        "N.xcdatamodel"
      ),
      (
        "<plist><dict><key>_XCCurrentVersionName</key><string>../M.xcdatamodel</string></dict></plist>",
        "../M"
      ),
      (
        "<plist><dict><key>_XCCurrentVersionName</key><integer>1</integer></dict></plist>",
        "_XCCurrentVersionName"
      ),
      ("rubbish", "_XCCurrentVersionName"), ("", "_XCCurrentVersionName"),
    ] {
      try folder.write(mark, to: "M.xcdatamodeld/.xccurrentversion")
      let sentences = sentences(url)
      #expect(sentences.count == 1 && sentences[0].contains(words), "\(mark): \(sentences)")
    }
  }

  @Test func whatIsNoModelIsAnErrorThatNamesIt() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    try folder.write("", to: "Empty.xcdatamodeld/readme")
    try folder.write("x", to: "Old.mom")
    try folder.write("", to: "Nothing.xcdatamodel/contents")
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("Odd.xcdatamodel/contents"), withIntermediateDirectories: true)
    for (name, words) in [
      ("Missing.xcdatamodeld", "no such file"), ("Empty.xcdatamodeld", "neither"), ("Old.mom", "compiled"),
      ("Nothing.xcdatamodel", "well-formed"), ("Odd.xcdatamodel", "no such file"),
    ] {
      let sentences = sentences(folder.url.appendingPathComponent(name))
      #expect(
        sentences.count == 1 && sentences[0].contains(words) && sentences[0].hasPrefix(name),
        "\(name): \(sentences)")
    }
  }

  @Test func severalModelsBecomeOne() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let other = try folder.write(
      "<model><entity name=\"Staff\"/><fetchRequest name=\"staff\" entity=\"Staff\"/></model>", to: "contents"
    )
    let merged = try ManagedObjectModel.mergedModel(contentsOf: [shop, other])
    #expect(
      Set(merged.entities.compactMap(\.name)) == ["Article", "Book", "Author", "Shelf", "Staff"])
    #expect(Set(merged.fetchRequestTemplatesByName.keys) == ["allBooks", "dearerThan", "staff"])
    #expect(merged.entitiesByName["Book"]?.propertiesByName["sameTitle"] is FetchedPropertyDescription)
    let clash = try folder.write(
      "<model><entity name=\"Author\"><attribute name=\"a\" attributeType=\"Date\"/></entity></model>",
      to: "clash")
    #expect(throws: ModelError.self) { try ManagedObjectModel.mergedModel(contentsOf: [shop, clash]) }
  }

  /// `indexed` and `compoundIndexes` of older editors, read with `Shop`, the first version.
  @Test func oldFormsOfIndexes() throws {
    let url = shop.appendingPathComponent("Shop.xcdatamodel")
    let goods = try #require(try ManagedObjectModel(contentsOf: url).entitiesByName["Goods"])
    #expect(
      goods.indexes.map { $0.elements.map(\.propertyName) }
        == [["day"], ["label"], ["label", "price"], ["maker", "day"]])
    #expect(goods.relationshipsByName["maker"]?.minCount == 1)
    #expect(goods.relationshipsByName["maker"]?.isToMany == false)
  }
}
