#include "alias_scopes.h"

#include <llvm/IR/MDBuilder.h>

namespace numlift::codegen::cpu {

namespace {

// The metadata grows with the square of the number; programs with more memory do without.
constexpr size_t kMostScopes = 64;
constexpr size_t kNoScope = ~size_t{0};

}  // namespace

AliasScopes::AliasScopes(const Program& program, llvm::LLVMContext& context)
    : by_buffer_(program.buffers.size()) {
  llvm::MDBuilder builder(context);
  llvm::MDNode* domain = builder.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes{builder.createAnonymousAliasScope(domain)};
  std::vector<size_t> scope_of(program.buffers.size(), kNoScope);
  std::unordered_map<uint32_t, size_t> by_slot;
  size_t moving = kNoScope;  // what has swapped memory is one thing, at different times
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    const bool is_own = buffer.kind == Buffer::Kind::kInput ||
                        buffer.kind == Buffer::Kind::kArray || buffer.kind == Buffer::Kind::kScalar;
    if (!is_own && buffer.kind != Buffer::Kind::kTemp) continue;
    if (buffer.moves) {
      if (moving == kNoScope) {
        moving = scopes.size();
        scopes.push_back(builder.createAnonymousAliasScope(domain));
      }
      scope_of[i] = moving;
      continue;
    }
    if (buffer.kind == Buffer::Kind::kTemp) {
      const auto [known, is_new] = by_slot.emplace(buffer.slot, scopes.size());
      scope_of[i] = known->second;
      if (!is_new) continue;
    }
    scope_of[i] = scopes.size();
    scopes.push_back(builder.createAnonymousAliasScope(domain));
  }
  if (scopes.size() > kMostScopes) return;
  const auto metadata_of = [&](size_t scope) {
    std::vector<llvm::Metadata*> others;
    for (size_t i = 0; i < scopes.size(); ++i) {
      if (i != scope) others.push_back(scopes[i]);
    }
    return Metadata{llvm::MDNode::get(context, {scopes[scope]}),
                    llvm::MDNode::get(context, others)};
  };
  frame_ = metadata_of(0);
  for (size_t i = 0; i < scope_of.size(); ++i) {
    if (scope_of[i] != kNoScope) by_buffer_[i] = metadata_of(scope_of[i]);
  }
}

void AliasScopes::apply(llvm::Instruction* access, const Metadata& metadata) {
  if (metadata.scope == nullptr) return;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, metadata.scope);
  access->setMetadata(llvm::LLVMContext::MD_noalias, metadata.others);
}

void AliasScopes::tag(llvm::Instruction* access, BufferId id) const {
  apply(access, by_buffer_[static_cast<size_t>(id)]);
}

void AliasScopes::tag_frame(llvm::Instruction* access) const { apply(access, frame_); }

}  // namespace numlift::codegen::cpu
