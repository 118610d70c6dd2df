/// The classes of a model's entities.
struct ModelClasses {
  init(contentsOf folder: String) throws {}
  func text(module: String) -> String { GeneratedFile.whole("") }
}
