import Foundation
import StrataModels
import Testing
import TortureKit

/// One struct under two names.
private struct SketchColor: Codable, Hashable, Sendable { var red = 3 }
private struct SketchPaint: Codable, Hashable, Sendable { var red = 7 }

@Managed(.named("Sketch")) private final class ColoredSketch: ManagedObject {
  var title = ""
  var color: SketchColor?
}

@Managed(.named("Sketch")) private final class PaintedSketch: ManagedObject {
  var title = ""
  var color: SketchPaint?
}

@Managed(.named("Sketch")) private final class KeptSketch: ManagedObject {
  var title = ""
  @Attribute(.transformer("Codable<SketchColor>")) var color: SketchPaint?
}

@Suite("A type that is kept as JSON gets another name")
struct RenamedTypeTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  @Test("The refusal names both transformers and what keeps the values, which then does")
  func renamed() async throws {
    let url = folder.url("sketches.strata")
    let first = try await PersistentContainer(for: ColoredSketch.self, at: url)
    try await first.background { context in
      let sketch = ColoredSketch(context: context)
      (sketch.title, sketch.color) = ("Tree", SketchColor(red: 5))
    }
    try first.close()
    let error = await #expect(throws: CoreDataError.self) {
      _ = try await PersistentContainer(for: PaintedSketch.self, at: url)
    }
    let text = error?.errorDescription ?? ""
    #expect(
      text.contains(
        "Sketch.color has another transformer: “Codable<SketchPaint>”, it was “Codable<SketchColor>”"),
      "\(text)")
    #expect(text.contains(#"@Attribute(.transformer("Codable<SketchColor>"))"#), "\(text)")
    #expect(
      text.contains(
        #"AttributeTransformers.set(CodableTransformer<SketchPaint>(), forName: "Codable<SketchColor>")"#),
      "\(text)")
    // That very advice.
    AttributeTransformers.set(CodableTransformer<SketchPaint>(), forName: "Codable<SketchColor>")
    let kept = try await PersistentContainer(for: KeptSketch.self, at: url)
    try await kept.performBackgroundTask { context throws in
      let sketch = try #require(try context.fetch(KeptSketch.self).first)
      #expect(sketch.title == "Tree" && sketch.color == SketchPaint(red: 5))
    }
  }
}
